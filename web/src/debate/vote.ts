/** The vote before a debate beside its result, as src/pnyx/interfaces/views/vote_only.py writes it. */

import type { Result } from "../server/events.ts";

type Fields = Record<string, unknown>;

/** "Vote before the debate: 42 (2 of 3); after: 42"; empty without short answers to compare. */
export function voteLine(result: Pick<Result, "status" | "final_answer" | "rounds" | "detail">): string {
  const vote = fields(result.detail["vote_only"]);
  const native = Object.values(fields(result.detail["native"]));
  const answer = vote["answer"];
  if (typeof answer !== "string" || result.status === "single") return "";
  // Any protocol, also of another package, may put anything into the detail.
  const votes = new Map(
    Object.entries(fields(vote["tally"])).filter((entry): entry is [string, number] => Number(entry[1]) > 0),
  );
  const long = result.final_answer === null && native.length > 0 && !native.includes(answer);
  const count = votes.get(answer);
  if (count === undefined || long) return "";
  const all = [...votes.values()].reduce((sum, votes) => sum + votes, 0);
  const heads = native.filter((one) => one === answer).length;
  let support = `${Math.round((100 * count) / all)} % of the weight`;
  if ([...votes.values()].every(Number.isInteger)) support = `${count} of ${Math.max(all, native.length)}`;
  else if (heads) support = `${heads} of ${native.length}`;
  if (!result.rounds) return `Vote: ${answer} (${support}); no debate was needed`;
  const then = "judgements" in result.detail ? "the judgement" : "the debate";
  return `Vote before ${then}: ${answer} (${support}); after: ${result.final_answer ?? "no short answer"}`;
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The word of a ballot for people: models are asked for "APPROVE" and "REJECT". */
export function ballotWord(name: string): string {
  return /^(?:APPROVE|REJECT|FINALIZE|REVISE)$/.test(name) ? name.toLowerCase() : name;
}

/** What a seat objects, without the word by which its ballot is counted. */
export function objection(text: string): string {
  return text.replace(/^REJECT(?::\s*(.+))?$/s, (_, reason: string | undefined) => reason ?? "Rejects the answer, without a reason.");
}
