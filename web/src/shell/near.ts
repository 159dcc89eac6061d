/** Which parts of a long page are near the screen: only these are drawn. */

/** How far beyond the screen counts as near: a fast scroll must not show gaps. */
const MARGIN = "1200px 0px";

const LISTENERS = new WeakMap<Element, (is: boolean) => void>();
/** One for all parts, of which a page may have thousands. */
let observer: IntersectionObserver | undefined;

function tell(entries: IntersectionObserverEntry[]): void {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting || !target.contains(document.activeElement)) LISTENERS.get(target)?.(isIntersecting);
  }
}

/** Call `set` whenever `node` comes near the screen, or leaves; a part with the focus stays. */
export function near(node: Element, set: (is: boolean) => void): () => void {
  observer ??= new IntersectionObserver(tell, { rootMargin: MARGIN });
  LISTENERS.set(node, set);
  observer.observe(node);
  return () => {
    observer?.unobserve(node);
    LISTENERS.delete(node);
  };
}
