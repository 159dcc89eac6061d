/** Format figures as everywhere in pnyx (src/pnyx/interfaces/views/transcript.py). */

/** USD with as many digits as it needs. An unknown price is never shown as $0. */
export function money(usd: number | null): string {
  if (usd === null) return "cost unknown";
  if (usd === 0) return "$0";
  if (usd >= 1) return `$${usd.toFixed(2)}`;
  return usd >= 0.0001 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(9).replace(/0+$/, "")}`;
}

export function seconds(elapsed: number): string {
  if (elapsed < 59.95) return `${elapsed.toFixed(1)} s`;
  const whole = Math.round(elapsed);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

export function quantity(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** A fraction of 1 as a percentage; null is "not measured". */
export function share(value: number | null): string {
  return value === null ? "not measured" : `${Math.round(value * 100)} %`;
}

/** The time relative to now, "12 min ago", or the date. */
export function ago(time: string, now: number): string {
  const then = new Date(time);
  const passed = (now - then.getTime()) / 1000;
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)} h ago`;
  return day(time);
}

/** The date of a time, "3 Dec 2026". */
export function day(time: string): string {
  return new Date(time).toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
}

/** A price in USD: cents, or as many digits as it needs. */
export function price(usd: number): string {
  return Number.isInteger(Number((usd * 100).toFixed(6))) ? `$${usd.toFixed(2)}` : money(usd);
}

/** The model of "provider:model". */
export function shortModel(ref: string): string {
  return ref.slice(ref.indexOf(":") + 1);
}

/** The label of a run's status, and its tone. */
export function statusLabel(status: string): { word: string; tone: string } {
  return STATUSES[status] ?? { word: status, tone: "plain" };
}

const STATUSES: Record<string, { word: string; tone: string }> = {
  running: { word: "Running", tone: "live" },
  consensus: { word: "Consensus", tone: "good" },
  majority: { word: "Majority", tone: "good" },
  plurality: { word: "Plurality", tone: "plain" },
  decided: { word: "Decided", tone: "plain" },
  single: { word: "Single answer", tone: "plain" },
  stalled: { word: "Stalled", tone: "warn" },
  deadlock: { word: "Deadlock", tone: "warn" },
  paused: { word: "Paused", tone: "warn" },
  cancelled: { word: "Cancelled", tone: "plain" },
  failed: { word: "Failed", tone: "bad" },
};

const STOPS: Record<string, string> = {
  converged: "the same objections came again",
  max_rounds: "the last round ended",
  judged: "the judge decided",
  no_judge: "the judge did not answer, so the votes decide",
  single_vote: "there was one vote, which needs no judge",
  majority: "a majority endorses one proposal",
  deadlock: "the votes are the same as before, and no proposal has a majority",
  consensus: "all seats give the same answer",
  stuck: "nobody changed their answer",
  agreement: "enough seats give the same answer",
  settled: "the other seats can hardly change the answer",
  all_asked: "all seats were asked",
  clear_lead: "one answer has a lead that more samples can hardly change",
  max_samples: "the last sample was drawn",
  no_short_answer: "the answers are too long to be counted",
  no_seat_left: "no seat was left to ask",
  answered: "it was answered",
  closed: "the last layer was put together",
  aggregated: "the replies were put together",
  synthesised: "the parts were put together",
  no_aggregator: "no seat could put the replies together",
  no_synthesis: "no seat could put the parts together",
  no_sources: "the search found nothing to answer from",
  workers_lost: "the machines that worked on it were lost",
  unreadable: "the record of this run cannot be read",
  unanimous: "all seats agreed at once",
  no_quorum: "too few seats remained",
  budget: "budget too small",
  deadline: "the deadline passed",
  interrupted: "the run was interrupted",
  cancelled: "the run was cancelled",
  error: "an error occurred",
};

/** The reason for which a run ended, in words. */
export function stopReason(reason: string): string {
  return STOPS[reason] ?? reason.replaceAll("_", " ");
}
