/** The question and options in the form. They stay while the user looks at other runs, and after a reload. */
import type { Defaults, Protocol, RunRequest } from "../server/api.ts";
import { defaultEffort, type Effort, effortFields, optionValue } from "./effort.ts";
import { type Attached, toBase64 } from "./files.ts";

const STORED = "pnyx-draft";

export interface PanelModel {
  model: string;
  seats: number;
}

/** What a reload keeps. Files are not stored: they may be large, and belong to the moment. */
interface Kept {
  question: string;
  protocol: string;
  effort: Effort;
  saved: string;
  panel: PanelModel[];
  options: Record<string, Record<string, string>>;
  budget: number | null;
  deadline: number | null;
  tools: boolean;
  ground: boolean;
}

export class Draft {
  question = $state("");
  protocol = $state("");
  effort = $state<Effort>("normal");
  /** The name of a saved panel; "" for the models of `panel`. */
  saved = $state("");
  panel = $state<PanelModel[]>([]);
  /** Protocol -> option -> value: an option means something else in another protocol. */
  options = $state<Record<string, Record<string, string>>>({});
  budget = $state<number | null>(null);
  deadline = $state<number | null>(null);
  tools = $state(false);
  ground = $state(false);
  files = $state.raw<Attached[]>([]);
  private readonly defaults: Defaults;
  private configured = "";

  constructor(defaults: Defaults) {
    this.defaults = defaults;
    this.panel = panelModels(defaults.seats);
    this.configured = JSON.stringify(this.panel);
    this.reset();
    this.restore();
  }

  /** All choices as the server has them; the question and the panel stay. */
  reset(): void {
    this.protocol = this.defaults.protocol;
    this.effort = defaultEffort(this.defaults);
    this.clear();
  }

  /** After a question is asked: what was set for it does not act on the next one. */
  clear(): void {
    this.options = {};
    [this.budget, this.deadline, this.ground, this.files] = [null, null, false, []];
    this.tools = this.defaults.tools;
  }

  /** Take over a run: its question, panel, protocol, and what was set for it. */
  repeat(run: { question: string; protocol: string; seats: { model: string }[]; options: Record<string, unknown>; budget_usd: number | null }, protocol: Protocol | undefined): void {
    this.reset();
    this.question = run.question;
    this.protocol = run.protocol;
    this.effort = "normal";
    this.saved = "";
    this.panel = panelModels(run.seats.map((seat) => seat.model).toSorted());
    this.budget = run.budget_usd === this.defaults.budget_usd ? null : run.budget_usd;
    const set = Object.entries(run.options).filter(
      ([name, value]) => protocol && name in protocol.options && value !== null &&
        value !== optionValue(name, "normal", "normal", protocol, this.defaults),
    );
    this.options = { [run.protocol]: Object.fromEntries(set.map(([name, value]) => [name, String(value)])) };
  }

  /** Choose an effort: it beats options that were set before. */
  chooseEffort(effort: Effort): void {
    this.effort = effort;
    this.options = { ...this.options, [this.protocol]: {} };
  }

  /** Choose a saved panel, with its protocol and effort; "" for models of one's own. */
  choosePanel(name: string): void {
    this.saved = name;
    const saved = this.defaults.panels[name];
    if (!saved) return;
    if (saved.protocol) this.protocol = saved.protocol;
    if (saved.preset === "quick" || saved.preset === "deep") this.effort = saved.preset;
    this.options = {};
  }

  option(name: string): string {
    return this.options[this.protocol]?.[name] ?? "";
  }

  setOption(name: string, value: string): void {
    this.options = { ...this.options, [this.protocol]: { ...this.options[this.protocol], [name]: value } };
  }

  /** The models of the saved panel, or of the panel in the form. */
  get seats(): PanelModel[] {
    const saved = this.defaults.panels[this.saved];
    return saved?.seats.length ? panelModels(expand(saved.seats)) : saved ? panelModels(this.defaults.seats) : this.panel;
  }

  /** The value of an option that is left empty. */
  optionValue(name: string, protocol: Protocol, defaults: Defaults): unknown {
    const saved = defaults.panels[this.saved];
    return saved?.options[name] ?? optionValue(name, this.effort, this.serverEffort(defaults), protocol, defaults);
  }

  /** The effort that the server uses without a preset: with a panel other than its own, the normal one. */
  private serverEffort(defaults: Defaults): Effort {
    return this.changed || this.saved ? "normal" : defaultEffort(defaults);
  }

  private get changed(): boolean {
    return JSON.stringify(this.panel) !== this.configured;
  }

  /** The body of the request, without the values that are configured on the server. */
  toRequest(protocol: Protocol, defaults: Defaults): RunRequest {
    const body: RunRequest = { question: this.question, protocol: protocol.name };
    const { preset, options: reset } = effortFields(this.effort, this.serverEffort(defaults), protocol, defaults);
    if (preset) body.preset = preset;
    if (this.saved) body.panel = this.saved;
    else if (this.changed) {
      body.models = this.panel.map((entry) => (entry.seats > 1 ? `${entry.model}*${entry.seats}` : entry.model));
    }
    const own = Object.entries(this.options[protocol.name] ?? {});
    const options = own.filter(([name, value]) => value !== "" && name in protocol.options);
    if (reset || options.length) {
      const filled = options.map(([name, value]) => [name, parseValue(value, protocol.options[name]?.default)]);
      body.options = { ...reset, ...Object.fromEntries(filled) };
    }
    if (this.budget) body.budget_usd = this.budget;
    if (this.deadline) body.deadline_s = this.deadline;
    if (this.tools !== defaults.tools) body.tools = this.tools;
    if (this.ground) body.ground = true;
    if (this.files.length) {
      body.files = this.files.map(({ name, bytes, type }) => ({
        name,
        data_base64: toBase64(bytes),
        ...(type ? { media_type: type } : {}),
      }));
    }
    return body;
  }

  /** Keep the draft over a reload of this tab. A form that nobody has touched is not stored. */
  keep(): void {
    const { question, protocol, effort, saved, panel, options, budget, deadline, tools, ground } = this;
    const kept: Kept = { question, protocol, effort, saved, panel, options, budget, deadline, tools, ground };
    if (question.trim()) sessionStorage.setItem(STORED, JSON.stringify(kept));
    else sessionStorage.removeItem(STORED);
  }

  private restore(): void {
    try {
      Object.assign(this, JSON.parse(sessionStorage.getItem(STORED) ?? "{}") as Partial<Kept>);
    } catch {
      sessionStorage.removeItem(STORED);
    }
    if (!(this.saved in this.defaults.panels)) this.saved = "";
  }
}

/** Remove the draft from this tab. */
export function forgetDraft(): void {
  sessionStorage.removeItem(STORED);
}

/** References with a number of seats, "lab:beta*3", as one reference for each seat. */
function expand(specs: readonly string[]): string[] {
  return specs.flatMap((spec) => {
    const [, model = spec, count = "1"] = /^(.*)\*(\d{1,2})$/.exec(spec) ?? [];
    return Array<string>(Number(count)).fill(model);
  });
}

/** The models of references, one per seat, with their numbers of seats. */
function panelModels(refs: readonly string[]): PanelModel[] {
  const seats = new Map<string, number>();
  for (const ref of refs) seats.set(ref, (seats.get(ref) ?? 0) + 1);
  return [...seats].map(([model, count]) => ({ model, seats: count }));
}

function parseValue(value: string, like: unknown): unknown {
  if (typeof like === "number") return Number(value);
  return typeof like === "boolean" ? value === "true" : value;
}
