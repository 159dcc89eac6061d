/** The names and colours of seats on the page. */
import type { Seat } from "./model.ts";

/** The letter of a seat: "B" of "Participant B". */
export function letter(label: string): string {
  return label.replace("Participant ", "").slice(0, 2);
}

/** The number of each seat's colour, in the order of the panel. */
export function hues(seats: readonly Seat[]): Record<string, number> {
  return Object.fromEntries(seats.map((seat, at) => [seat.label, at % 6]));
}

/** The order of seats by their letters. */
export function byLabel(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
