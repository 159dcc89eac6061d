/** The route, from the fragment of the address; and the key, which is removed from the address at once. */

const STORED = "pnyx-key";

export type Route =
  | { name: "ask" }
  | { name: "runs" }
  | { name: "costs" }
  | { name: "calibration" }
  | { name: "evaluation"; ids: string[] }
  | { name: "run"; id: string }
  | { name: "shared"; token: string }
  | { name: "compare"; ids: string[] };

/** The key from the link that `pnyx serve` prints, or else from the session of this tab. */
export function readKey(): string {
  const match = /^#key=([!-~]{1,400})$/.exec(location.hash);
  if (match?.[1]) {
    storeKey(match[1]);
    history.replaceState(null, "", `${location.pathname}#/`);
  }
  return sessionStorage.getItem(STORED) ?? "";
}

export function storeKey(key: string): void {
  if (key) sessionStorage.setItem(STORED, key);
  else sessionStorage.removeItem(STORED);
}

class Router {
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
  if (name === "runs") return id ? { name: "run", id: decode(id) } : { name: "runs" };
  if (name === "shared" && id) return { name, token: decode(id) };
  if (name === "compare" && id) return { name: "compare", ids: id.split(",").map(decode) };
  if (name === "evaluation") return { name, ids: id ? id.split(",").map(decode) : [] };
  if (name === "costs" || name === "calibration") return { name };
  return { name: "ask" };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const router = new Router();
