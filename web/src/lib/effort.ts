/** How much effort a question gets: what its options stand at, and what of that a request has to say. */
import type { Defaults, Protocol } from "./api.ts";

export type Effort = "quick" | "normal" | "deep";

/** The effort that the server's own panel gets where a request names none. */
export function usual(defaults: Defaults): Effort {
  return defaults.preset === "quick" || defaults.preset === "deep" ? defaults.preset : "normal";
}

/** What an option is where nothing is filled in: settings count over the usual preset, one that is chosen over them. */
export function standing(name: string, effort: Effort, taken: Effort, protocol: Protocol, defaults: Defaults): unknown {
  const preset = protocol.presets[effort]?.[name];
  const configured = defaults.options[protocol.name]?.[name];
  return (effort === taken ? (configured ?? preset) : (preset ?? configured)) ?? protocol.options[name]?.default;
}

/** The fields that a request needs for `effort`, where the server would take `taken` by itself. */
export function effortful(
  effort: Effort, taken: Effort, protocol: Protocol, defaults: Defaults,
): { preset?: string; options?: Record<string, unknown> } {
  if (effort === taken) return {};
  if (effort in protocol.presets) return { preset: effort };
  // No preset undoes another one: its options are named, as they would be without it.
  const undone = Object.keys(protocol.presets[taken] ?? {});
  if (effort !== "normal" || !undone.length) return {};
  return {
    options: Object.fromEntries(undone.map((name) => [name, standing(name, "normal", taken, protocol, defaults)])),
  };
}
