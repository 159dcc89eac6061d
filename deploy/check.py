"""Checks the files in this folder, and the issue forms, with the tools made for them: `make check-deploy`.

hadolint reads the Dockerfile, check-jsonschema the compose file and the forms with their schemas, and
systemd-analyze the units, promtool the alerts, each with a case in which it fires, and the queries of the
dashboard. Helm lints and renders the chart, and kubernetes-validate checks the result with
the schemas of Kubernetes. Runs in an environment of its own, with the tools of requirements-deploy.lock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import yaml

FOLDER = Path(__file__).parent
CHART = FOLDER / "helm" / "pnyx"
KUBERNETES = ("1.29", "1.34")
"""The oldest and a recent version of Kubernetes that the chart is checked for."""
VALUES: Mapping[str, dict[str, Any]] = {
    "defaults": {},
    "with an ingress": {
        "ingress": {
            "enabled": True,
            "className": "nginx",
            "host": "pnyx.example.org",
            "tlsSecretName": "tls",
            "annotations": {"example.org/size": "1m"},
        }
    },
    "with everything": {
        "image": {"repository": "registry.example.org/pnyx", "tag": "edge", "pullPolicy": "Always"},
        "server": {"replicas": 2},
        "worker": {"replicas": 5, "concurrency": 4},
        "service": {"type": "LoadBalancer", "port": 443},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "models", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
    },
}
REFUSED: Mapping[str, dict[str, Any]] = {
    "a misspelt value": {"worker": {"replica": 2}},
    "no concurrency": {"worker": {"concurrency": 0}},
    "an unknown type of service": {"service": {"type": "Public"}},
}


class CheckFailed(Exception):  # noqa: N818 (what happened)
    pass


def dockerfile() -> None:
    _run("hadolint", str(FOLDER / "Dockerfile"))


def compose() -> None:
    _run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(FOLDER / "compose.yaml"))
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    _expect(set(services) == {"database", "server", "worker"}, f"services are {sorted(services)}")
    _expect(services["worker"]["deploy"]["replicas"] == 2, "there are not two workers")
    _expect("healthcheck" in services["database"], "the database has no healthcheck")


def issue_forms() -> None:
    forms = FOLDER.parent / ".github" / "ISSUE_TEMPLATE"
    _run("check-jsonschema", "--builtin-schema", "vendor.github-issue-config", str(forms / "config.yml"))
    others = sorted(str(path) for path in forms.glob("*.yml") if path.name != "config.yml")
    _run("check-jsonschema", "--builtin-schema", "vendor.github-issue-forms", *others)


def units() -> None:
    with tempfile.TemporaryDirectory() as folder:
        copies = []
        for unit in sorted((FOLDER / "systemd").glob("*.service")):
            copies.append(Path(folder, unit.name))
            # The command is not installed here.
            copies[-1].write_text(unit.read_text().replace("/usr/local/bin/pnyx", "/bin/true"))
        # Unknown settings are warnings, which leave its exit status at 0.
        warnings = _run("systemd-analyze", "verify", "--man=no", *map(str, copies))
        _expect(not warnings, f"systemd-analyze: {warnings}")


def alerts() -> None:
    rules = FOLDER / "prometheus" / "alerts.yaml"
    _run("promtool", "check", "rules", "--lint=all", "--lint-fatal", str(rules))
    _run("promtool", "test", "rules", str(FOLDER / "prometheus" / "alerts_test.yaml"))
    named = {rule["alert"] for rule in yaml.safe_load(rules.read_text())["groups"][0]["rules"]}
    cases = yaml.safe_load((FOLDER / "prometheus" / "alerts_test.yaml").read_text())["tests"]
    fired = {one["alertname"] for case in cases for one in case["alert_rule_test"] if one["exp_alerts"]}
    _expect(named == fired, f"alerts without a case in which they fire: {sorted(named - fired)}")


def dashboard() -> None:
    """Reads the queries of the dashboard as rules, with a value in place of each variable."""
    panels = json.loads((FOLDER / "grafana" / "pnyx.json").read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    _expect(len(queries) > 20, f"the dashboard has {len(queries)} queries")
    rules = [
        {"record": f"dashboard:query:{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(queries)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "queries.yaml")
        file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
        _run("promtool", "check", "rules", str(file))


def chart() -> None:
    for name, values in VALUES.items():
        found = helm_python.lint(str(CHART), values, strict=True)
        problems = [one["error"] for one in found["messages"] if one["severity"] > 1] + found["errors"]
        _expect(not problems, f"{name}: {problems}")
        kinds = []
        for document in _render(values):
            kinds.append(document["kind"])
            _expect(not _has_null(document), f"{name}: a value of {document['kind']} is missing")
            for version in KUBERNETES:
                kubernetes_validate.validate(document, version, strict=True)
        expected = ["ConfigMap", "Deployment", "Deployment", "Service"]
        expected += ["Ingress"] if values.get("ingress") else []
        _expect(sorted(kinds) == sorted(expected), f"{name}: rendered {kinds}")
    for name, values in REFUSED.items():
        found = helm_python.lint(str(CHART), values, strict=True)
        _expect(any(one["severity"] > 2 for one in found["messages"]), f"{name} is not refused")


def _render(values: dict[str, Any]) -> list[dict[str, Any]]:
    with helm_python.Chart.load(str(CHART)) as loaded:
        texts = loaded.render(values=values, name="demo")
    return [
        document
        for name, text in texts.items()
        if name.endswith(".yaml")
        for document in yaml.safe_load_all(text)
        if document
    ]


def _has_null(value: object) -> bool:
    """Whether a part of a document is null, as a misspelt value of the chart is."""
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    return any(map(_has_null, value)) if isinstance(value, list) else value is None


def _run(program: str, *arguments: str) -> str:
    """Run a tool of this environment or of the system, and return what it wrote."""
    own = Path(sysconfig.get_path("scripts"), program)
    done = subprocess.run([str(own) if own.exists() else program, *arguments], capture_output=True, text=True)
    _expect(done.returncode == 0, f"{program}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise CheckFailed(message)


CHECKS: Mapping[str, Callable[[], None]] = {
    "the Dockerfile (hadolint)": dockerfile,
    "the compose file (check-jsonschema)": compose,
    "the issue forms (check-jsonschema)": issue_forms,
    "the systemd units (systemd-analyze)": units,
    "the alerts (promtool)": alerts,
    "the dashboard (promtool)": dashboard,
    "the Helm chart (helm, kubernetes-validate)": chart,
}


def main() -> int:
    failed = 0
    for name, check in CHECKS.items():
        try:
            check()
        except (CheckFailed, OSError, helm_python.HelmError, kubernetes_validate.ValidationError) as exc:
            failed += 1
            print(f"FAIL {name}: {exc}")
        else:
            print(f"ok   {name}")
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
