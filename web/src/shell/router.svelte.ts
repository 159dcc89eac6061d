/** The route, from the fragment of the address; and the key, which is removed from the address at once. */

const STORED = "pnyx-key";
const LINK = "#key=";

export type Route =
  | { name: "ask" }
  | { name: "runs" }
  | { name: "costs" }
  | { name: "calibration" }
  | { name: "evaluation"; ids: string[] }
  | { name: "run"; id: string }
  | { name: "shared"; token: string }
  | { name: "compare"; ids: string[] };

/** The key in the address, if it is a link that `pnyx serve` prints; it leaves the address. */
export function takeKey(): string | null {
  if (!location.hash.startsWith(LINK)) return null;
  const [key] = /^[!-~]{1,400}$/.exec(location.hash.slice(LINK.length)) ?? [null];
  history.replaceState(null, "", `${location.pathname}#/`);
  return key;
}

/** The key of the session of this tab. */
export function storedKey(): string {
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
  const [mark, name, id] = location.hash.split("/");
  if (mark !== "#") return { name: "ask" };
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
