/** Where the page is, from the fragment of its address; and the key, which leaves the address at once. */

const STORED = "pnyx-key";

export type Route = { name: "ask" } | { name: "runs" } | { name: "run"; id: string };

/** The key of the link that `pnyx serve` prints, else of this tab's session. */
export function takeKey(): string {
  const match = /^#key=([!-~]{1,400})$/.exec(location.hash);
  if (match?.[1]) {
    keepKey(match[1]);
    history.replaceState(null, "", `${location.pathname}#/`);
  }
  return sessionStorage.getItem(STORED) ?? "";
}

export function keepKey(key: string): void {
  if (key) sessionStorage.setItem(STORED, key);
  else sessionStorage.removeItem(STORED);
}

class Place {
  route = $state.raw<Route>(read());

  constructor() {
    addEventListener("hashchange", () => {
      this.route = read();
    });
  }

  go(route: string): void {
    location.hash = route;
  }
}

function read(): Route {
  const [, name, id] = location.hash.split("/");
  if (name === "runs") return id ? { name: "run", id: decoded(id) } : { name: "runs" };
  return { name: "ask" };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = new Place();
