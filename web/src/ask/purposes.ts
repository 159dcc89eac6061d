/** The protocols by what one wants of them, each with one plain line. Those of packages come last. */
import type { Protocol } from "../server/api.ts";

const GROUPS: [string, Record<string, string>][] = [
  [
    "Debate a decision",
    {
      consensus: "One model proposes, the others attack it, and it answers, until nothing new is said.",
      council: "Every model proposes, they review each other and vote until most of them endorse one text.",
      deliberate: "The models argue only if their answers differ, and vote if they stay apart.",
    },
  ],
  [
    "Answer alone, then combine",
    {
      voting: "Every model answers alone; the strongest one picks the best answer and improves it.",
      aggregate: "Every model answers alone; one of them writes a single answer from all of them.",
      sample: "Many answers to one question with a short answer; the most frequent one wins.",
      moa: "Layers of answers, each written with the previous layer in view.",
    },
  ],
  [
    "Split up, or spend less",
    {
      auto: "Looks at the question and chooses how to answer it.",
      decompose: "Splits a large question into parts, answers each, and puts them together.",
      escalate: "Asks two models, and more of them only if they differ.",
    },
  ],
  ["One model", { single: "One model answers, and nobody checks it." }],
];

export function grouped(protocols: readonly Protocol[]): { name: string; protocols: Protocol[] }[] {
  const known = GROUPS.map(([name, lines]) => ({ name, protocols: protocols.filter((one) => one.name in lines) }));
  const other = protocols.filter((one) => GROUPS.every(([, lines]) => !(one.name in lines)));
  return [...known, { name: "Others", protocols: other }].filter((group) => group.protocols.length);
}

/** What a protocol does, in one line. */
export function line(protocol: Protocol): string {
  const found = GROUPS.map(([, lines]) => lines[protocol.name]).find(Boolean);
  return found ?? `${protocol.summary.slice(0, 1).toUpperCase()}${protocol.summary.slice(1)}.`;
}
