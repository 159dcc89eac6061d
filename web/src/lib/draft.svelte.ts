/** The question and options in the form. They stay while the user looks at other runs. */
import type { Defaults, Protocol, RunRequest } from "./api.ts";
import { defaultEffort, type Effort, effortFields, optionValue } from "./effort.ts";

export interface PanelModel {
  model: string;
  seats: number;
}

export class Draft {
  question = $state("");
  protocol = $state("");
  effort = $state<Effort>("normal");
  panel = $state<PanelModel[]>([]);
  options = $state<Record<string, string>>({});
  budget = $state<number | null>(null);
  deadline = $state<number | null>(null);
  tools = $state(false);
  ground = $state(false);
  private configured = "";

  constructor(defaults: Defaults) {
    this.protocol = defaults.protocol;
    this.effort = defaultEffort(defaults);
    this.tools = defaults.tools;
    this.panel = panelModels(defaults.seats);
    this.configured = JSON.stringify(this.panel);
  }

  /** The value of an option that is left empty. */
  optionValue(name: string, protocol: Protocol, defaults: Defaults): unknown {
    return optionValue(name, this.effort, this.serverEffort(defaults), protocol, defaults);
  }

  /** The effort that the server uses without a preset: with a panel other than its own, the normal one. */
  private serverEffort(defaults: Defaults): Effort {
    return this.changed ? "normal" : defaultEffort(defaults);
  }

  private get changed(): boolean {
    return JSON.stringify(this.panel) !== this.configured;
  }

  /** The body of the request, without the values that are configured on the server. */
  toRequest(protocol: Protocol, defaults: Defaults): RunRequest {
    const body: RunRequest = { question: this.question, protocol: protocol.name };
    const { preset, options: reset } = effortFields(this.effort, this.serverEffort(defaults), protocol, defaults);
    if (preset) body.preset = preset;
    if (this.changed) {
      body.models = this.panel.map((entry) => (entry.seats > 1 ? `${entry.model}*${entry.seats}` : entry.model));
    }
    const options = Object.entries(this.options).filter(([name, value]) => value !== "" && name in protocol.options);
    if (reset || options.length) {
      const filled = options.map(([name, value]) => [name, parseValue(value, protocol.options[name]?.default)]);
      body.options = { ...reset, ...Object.fromEntries(filled) };
    }
    if (this.budget) body.budget_usd = this.budget;
    if (this.deadline) body.deadline_s = this.deadline;
    if (this.tools !== defaults.tools) body.tools = this.tools;
    if (this.ground) body.ground = true;
    return body;
  }
}

/** The models of references, one per seat, with their numbers of seats. */
function panelModels(refs: string[]): PanelModel[] {
  const seats = new Map<string, number>();
  for (const ref of refs) seats.set(ref, (seats.get(ref) ?? 0) + 1);
  return [...seats].map(([model, count]) => ({ model, seats: count }));
}

function parseValue(value: string, like: unknown): unknown {
  if (typeof like === "number") return Number(value);
  return typeof like === "boolean" ? value === "true" : value;
}
