/** Figures as they are said everywhere in pnyx (src/pnyx/interfaces/views/transcript.py). */

/** USD with as many digits as it needs; an unknown price is never shown as nothing. */
export function money(usd: number | null): string {
  if (usd === null) return "cost unknown";
  if (usd === 0) return "$0";
  if (usd >= 1) return `$${usd.toFixed(2)}`;
  return usd >= 0.0001 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(9).replace(/0+$/, "")}`;
}

export function seconds(elapsed: number): string {
  if (elapsed < 60) return `${elapsed.toFixed(1)} s`;
  return `${Math.floor(elapsed / 60)} min ${Math.floor(elapsed % 60)} s`;
}

export function quantity(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** A share of one as a percentage; what was not measured is said to be so. */
export function share(value: number | null): string {
  return value === null ? "not measured" : `${Math.round(value * 100)} %`;
}

/** When something was, seen from now: "12 min ago", "yesterday", or its date. */
export function ago(time: string, now: number): string {
  const then = new Date(time);
  const passed = (now - then.getTime()) / 1000;
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)} h ago`;
  return then.toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
}

/** The model of "provider:model", which is what tells seats apart. */
export function shortModel(ref: string): string {
  return ref.slice(ref.indexOf(":") + 1);
}

/** What became of a run, in a word or two, and how it looks. */
export function verdictOf(status: string): { word: string; tone: string } {
  return STATUSES[status] ?? { word: status, tone: "plain" };
}

const STATUSES: Record<string, { word: string; tone: string }> = {
  running: { word: "Running", tone: "live" },
  consensus: { word: "Consensus", tone: "good" },
  majority: { word: "Majority", tone: "good" },
  plurality: { word: "Plurality", tone: "plain" },
  decided: { word: "Decided", tone: "plain" },
  single: { word: "Single answer", tone: "plain" },
  deadlock: { word: "Deadlock", tone: "warn" },
  paused: { word: "Paused", tone: "warn" },
  cancelled: { word: "Cancelled", tone: "plain" },
  failed: { word: "Failed", tone: "bad" },
};

const STOPS: Record<string, string> = {
  converged: "the debate converged",
  max_rounds: "its last round was over",
  judged: "the votes were judged",
  unanimous: "all agreed at once",
  no_quorum: "too few seats were left",
  budget: "the budget was used up",
  deadline: "the time was up",
  interrupted: "it was interrupted",
  cancelled: "it was cancelled",
  error: "of an error",
};

export function stopped(reason: string): string {
  return STOPS[reason] ?? reason.replaceAll("_", " ");
}
