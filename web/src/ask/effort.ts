/** The effort of a question: the values of its options, and the fields that a request needs for it. */
import type { Defaults, Protocol } from "../server/api.ts";

export type Effort = "quick" | "normal" | "deep";

/** The effort of the server's own panel for a request without a preset. */
export function defaultEffort(defaults: Defaults): Effort {
  return defaults.preset === "quick" || defaults.preset === "deep" ? defaults.preset : "normal";
}

/**
 * The value of an option that is left empty.
 *
 * Settings take precedence over the server's default preset, and a preset that the user selects over settings.
 */
export function optionValue(
  name: string, effort: Effort, serverEffort: Effort, protocol: Protocol, defaults: Defaults,
): unknown {
  const preset = protocol.presets[effort]?.[name];
  const configured = defaults.options[protocol.name]?.[name];
  return (effort === serverEffort ? (configured ?? preset) : (preset ?? configured)) ?? protocol.options[name]?.default;
}

/** The fields that a request needs for `effort`, if the server uses `serverEffort` without them. */
export function effortFields(
  effort: Effort, serverEffort: Effort, protocol: Protocol, defaults: Defaults,
): { preset?: string; options?: Record<string, unknown> } {
  if (effort === serverEffort) return {};
  if (effort in protocol.presets) return { preset: effort };
  // No preset resets another one, so set its options to their values without it.
  const names = Object.keys(protocol.presets[serverEffort] ?? {});
  if (effort !== "normal" || !names.length) return {};
  return {
    options: Object.fromEntries(names.map((name) => [name, optionValue(name, "normal", serverEffort, protocol, defaults)])),
  };
}
