/** What went wrong, in words for a page: what happened and what to do here, without commands and requests. */
import type { Budget, Result } from "./events.ts";

const COMMAND = /(?:^|[\s`(])pnyx [a-z]|\bmake [a-z]+|--[a-z]|\bexport [A-Z]|\b(?:GET|POST) \/v1\//;

/** `message` without the clauses that name a command or a request, and with a full stop. */
export function withoutCommands(message: string): string {
  const clauses = message.split(/(?<=[.;])\s+/);
  const kept = clauses.filter((clause) => !COMMAND.test(clause)).map((clause) => clause.replace(/[.;,]$/, ""));
  const text = kept.join(". ").trim();
  return text && (/[.!?…]$/.test(text) ? text : `${text}.`);
}

const BY_TYPE: Record<string, string> = {
  not_found: "There is no such run here. It may belong to another key, or have been deleted.",
  full: "The server is running as many questions as it allows. Try again in a moment.",
  unavailable: "The server cannot do this at the moment. Nothing is lost; try again in a moment.",
  store_error: "The server cannot reach its database. Nothing is lost; try again in a moment.",
  internal_error: "The server met an error of its own, and has written it to its log. What was recorded is safe.",
};

/** The words for an error of the server. type: its code; message: its words for programs and terminals. */
export function errorWords(type: string, message: string): string {
  const words = withoutCommands(message).replace(/(^|[.!?] )([a-z]+ )/g, (_, end, word) => end + capital(word));
  return BY_TYPE[type] ?? (words || "The server refused this.");
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

const REFUSALS: Record<string, string> = {
  400: "refuses the request",
  401: "refuses the key",
  402: "wants to be paid first",
  403: "does not allow this with the key",
  404: "does not know the model or the address",
  408: "took too long",
  413: "says that the text is too long",
  429: "limits how much can be asked",
};

/** The reason for which a host did not answer, with what its status code means: "HOST refuses the key: … (HTTP 401)". */
export function hostWords(reason: string): string {
  const [, host, code, rest] = /^(\S+): HTTP (\d{3}):? ?(.*)$/s.exec(reason) ?? [];
  if (!host || !code) return reason;
  const said = rest ? `: ${rest.replace(/[.\s]+$/, "")}` : "";
  return `${host} ${REFUSALS[code] ?? (code.startsWith("5") ? "has a fault of its own" : "did not answer")}${said} (HTTP ${code})`;
}

export interface Outage {
  reason: string;
  seats: { seat: string; model: string }[];
}

/** The dropped seats by reason, each reason once. */
export function outages(dropped: Result["dropped"]): Outage[] {
  const found = new Map<string, Outage>();
  for (const { seat, model, reason } of dropped) {
    const words = withoutCommands(hostWords(reason)) || "It could not be asked.";
    const outage = found.get(words) ?? { reason: words, seats: [] };
    outage.seats.push({ seat, model });
    found.set(words, outage);
  }
  for (const { seats } of found.values()) seats.sort((a, b) => a.seat.localeCompare(b.seat, "en", { numeric: true }));
  return [...found.values()];
}

/** How many seats answered, and how many were needed for a decision. */
export function quorumWords(result: Result): string {
  const message = String(result.detail["message"] ?? "");
  const [, answered, of, needed] = /(\d+) of (\d+) answered, (\d+) needed/.exec(message) ?? [];
  return answered ? `${answered} of ${of} seats answered, and ${needed} ${needed === "1" ? "is" : "are"} needed.` : "Too few seats answered for a decision.";
}

/** What the person can do about a run that failed. */
export function advice(result: Result): string {
  if (result.stop_reason === "no_quorum" || result.dropped.length) {
    return "Check the host, its address and the key in the server's settings, or choose other models. " +
      "Trying again keeps every reply that was recorded, and does not pay for it again.";
  }
  return "Trying again keeps every reply that was recorded, and does not pay for it again.";
}

/** The budget that lets a run go on that `event` stops, in USD: the one that `pnyx resume` advises, see `run.spending`. */
export function sufficientCap(event: Budget): number {
  const more = Math.max(event.next_usd ?? 0, event.expected_usd ?? 0, event.needed_usd ?? 0);
  const needed = event.spent_usd + event.reserved_usd + more;
  const unit = 10 ** Math.floor(Math.log10(Math.max(needed, 1e-9)));
  const times = [1, 2, 5, 10].find((n) => n * unit >= needed - 1e-12) ?? 10;
  return Number((times * unit).toPrecision(1));
}
