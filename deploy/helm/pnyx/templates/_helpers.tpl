{{- define "pnyx.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "pnyx.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The pod of a server or a worker, but for its command, port and probes: those of `.container`. */}}
{{- define "pnyx.pod" -}}
metadata:
  labels:
    {{- include "pnyx.selector" . | nindent 4 }}
  annotations:
    # A new configuration starts new pods.
    checksum/config: {{ .root.Values.config | sha256sum }}
spec:
  automountServiceAccountToken: false
  # Longer than the 8 seconds in which calls in flight may end.
  terminationGracePeriodSeconds: 20
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: {{ .component }}
      image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      envFrom:
        - secretRef:
            name: {{ .root.Values.secretName }}
      env:
        - name: PNYX_CONFIG
          value: /etc/pnyx/config.toml
      {{- .container | nindent 6 }}
      resources:
        {{- toYaml .values.resources | nindent 8 }}
      volumeMounts:
        - name: config
          mountPath: /etc/pnyx
          readOnly: true
        - name: data
          mountPath: /data
        - name: temporary
          mountPath: /tmp
  volumes:
    - name: config
      configMap:
        name: {{ .root.Release.Name }}-pnyx
    # Trust and caches; runs are in PostgreSQL.
    - name: data
      emptyDir: {}
    - name: temporary
      emptyDir: {}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
