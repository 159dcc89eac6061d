/** Which parts of a long list are near the screen: only these are drawn. */

/** How far beyond the screen counts as near: a fast scroll must not show gaps. */
const MARGIN = "1200px 0px";

/** Call `set` whenever `node` comes near the screen, or leaves; a part with the focus stays. */
export function near(set: (is: boolean) => void): (node: HTMLElement) => () => void {
  return (node) => {
    const observer = new IntersectionObserver(
      (entries) => {
        const is = entries.at(-1)?.isIntersecting ?? false;
        if (is || !node.contains(document.activeElement)) set(is);
      },
      { rootMargin: MARGIN },
    );
    observer.observe(node);
    return () => observer.disconnect();
  };
}
