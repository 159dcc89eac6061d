/** What the page says about calls and budgets, from their events. */
import type * as E from "../server/events.ts";
import { money, quantity } from "../text/format.ts";

const PLAIN_FINISHES = [
  "", "stop", "end_turn", "stop_sequence", "eos", "complete", "length", "max_tokens", "max_output_tokens",
  "refusal",
];

/** Why the reply counts as an abstention, with the host's word for it. */
export function abstention(event: E.CallFinished): string {
  const reason = event.absent === "empty" ? "empty reply" : event.absent;
  const word = event.finish_detail ?? "";
  return PLAIN_FINISHES.includes(word.toLowerCase()) ? `${reason}` : `${reason} (${word})`;
}

/** Short facts of a reply. */
export function factsOf(event: E.CallFinished): string[] {
  const facts: string[] = [];
  if (event.copied) facts.push("copied from the forked run");
  if (event.reasoning_tokens) facts.push(`${quantity(event.reasoning_tokens, "token")} of reasoning`);
  if (event.finish_reason === "length") facts.push("cut at the token limit");
  if (event.searches) facts.push(`searched ${event.searches === 1 ? "once" : `${event.searches} times`}`);
  if (event.usage_flag) facts.push(`usage ${event.usage_flag}: charged the reserved amount`);
  const tools = event.tool_calls.map((call) => call.name).filter(Boolean);
  if (tools.length) facts.push(`calls ${tools.join(", ")}`);
  return facts;
}

/** The name of a budget for a person, by what it caps, as in src/pnyx/run/spending/exhaustion.py. */
const BUDGETS: Record<string, string> = {
  run: "Budget",
  day: "Daily budget",
  batch: "Batch budget",
  key: "Budget of this key",
  "key-day": "Daily budget of this key",
};

export function budgetText(event: E.Budget): string {
  const name = BUDGETS[event.scope.split(":")[0] ?? ""] ?? "Budget";
  if (event.kind === "exhausted") {
    const left = money(Math.max((event.cap_usd ?? 0) - event.spent_usd - event.reserved_usd, 0));
    const problem = event.expected_usd != null
      ? `the run is expected to cost ${money(event.expected_usd)} and ${left} is left`
      : event.next_usd == null
      ? `the next call costs more than the ${left} that is left`
      : `the next call may cost up to ${money(event.next_usd)} and ${left} is left`;
    return `${name} too small: ${problem}`;
  }
  const cap = event.cap_usd === null ? "" : ` of ${money(event.cap_usd)}`;
  const over = event.overrun_usd ? `; ${money(event.overrun_usd)} more than reserved` : "";
  return `${name} ${event.kind}: ${money(event.spent_usd)}${cap} spent, ${money(event.reserved_usd)} reserved${over}`;
}
