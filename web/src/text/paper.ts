/** What only paper needs: there nothing scrolls. */

/** The widest part of a formula that fits on a page, and in one of two columns, in CSS pixels. */
const [PAGE, COLUMN] = [560, 270];

/** Make formulas smaller that have a part, such as a fraction, which is wider than a page; they break between parts. */
export function fitFormulas(): void {
  for (const formula of document.querySelectorAll<HTMLElement>(".katex-display")) {
    const widths = [...formula.querySelectorAll(".katex-base")].map((part) => part.getBoundingClientRect().width);
    const most = formula.closest(".cell:not(:only-child)") ? COLUMN : PAGE;
    const widest = Math.max(...widths, 1);
    if (widest > most) formula.style.fontSize = `${(most / widest).toFixed(3)}em`;
  }
}

/** Give formulas their size on the screen back. */
export function unfitFormulas(): void {
  for (const formula of document.querySelectorAll<HTMLElement>(".katex-display")) formula.style.removeProperty("font-size");
}
