/** The question that is being written, which outlives a look at other runs. */
import type { Defaults, Protocol, Question } from "./api.ts";
import { type Effort, effortful, standing, usual } from "./effort.ts";

export interface Chair {
  model: string;
  seats: number;
}

export class Draft {
  question = $state("");
  protocol = $state("");
  effort = $state<Effort>("normal");
  panel = $state<Chair[]>([]);
  options = $state<Record<string, string>>({});
  budget = $state<number | null>(null);
  deadline = $state<number | null>(null);
  tools = $state(false);
  ground = $state(false);
  private configured = "";

  constructor(defaults: Defaults) {
    this.protocol = defaults.protocol;
    this.effort = usual(defaults);
    this.tools = defaults.tools;
    this.panel = chairs(defaults.seats);
    this.configured = JSON.stringify(this.panel);
  }

  /** What an option is where nothing is filled in. */
  standing(name: string, protocol: Protocol, defaults: Defaults): unknown {
    return standing(name, this.effort, this.taken(defaults), protocol, defaults);
  }

  /** The effort that the server takes by itself; with another panel than its own it is the normal one. */
  private taken(defaults: Defaults): Effort {
    return this.changed ? "normal" : usual(defaults);
  }

  private get changed(): boolean {
    return JSON.stringify(this.panel) !== this.configured;
  }

  /** The body of the request; what stands as configured is left to the server. */
  asked(protocol: Protocol, defaults: Defaults): Question {
    const body: Question = { question: this.question, protocol: protocol.name };
    const { preset, options: undone } = effortful(this.effort, this.taken(defaults), protocol, defaults);
    if (preset) body.preset = preset;
    if (this.changed) {
      body.models = this.panel.map((chair) => (chair.seats > 1 ? `${chair.model}*${chair.seats}` : chair.model));
    }
    const options = Object.entries(this.options).filter(([name, value]) => value !== "" && name in protocol.options);
    if (undone || options.length) {
      const filled = options.map(([name, value]) => [name, typed(value, protocol.options[name]?.default)]);
      body.options = { ...undone, ...Object.fromEntries(filled) };
    }
    if (this.budget) body.budget_usd = this.budget;
    if (this.deadline) body.deadline_s = this.deadline;
    if (this.tools !== defaults.tools) body.tools = this.tools;
    if (this.ground) body.ground = true;
    return body;
  }
}

/** References, one a seat or "model*N", as models with their numbers of seats. */
function chairs(refs: string[]): Chair[] {
  const seats = new Map<string, number>();
  for (const ref of refs) seats.set(ref, (seats.get(ref) ?? 0) + 1);
  return [...seats].map(([model, count]) => ({ model, seats: count }));
}

function typed(value: string, like: unknown): unknown {
  if (typeof like === "number") return Number(value);
  return typeof like === "boolean" ? value === "true" : value;
}
