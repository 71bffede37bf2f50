/** Addresses of the console: a page, an entry of it, and filters, as in `#/requests/req_1?key=ci`. */
import { h } from "./elements.js";

const isSet = ([, value]) => value !== undefined && value !== null && value !== "";

/** Returns an address. `query` is an object or `URLSearchParams`; empty values are left out. */
export function href(page, id, query = {}) {
  const entries = query instanceof URLSearchParams ? [...query] : Object.entries(query);
  const search = new URLSearchParams(entries.filter(isSet)).toString();
  const path = id === undefined ? page : `${page}/${encodeURIComponent(id)}`;
  return `#/${path}${search === "" ? "" : `?${search}`}`;
}

/** Parses an address, by default the current one, into `{ page, id, query }`. */
export function readAddress(hash = location.hash) {
  const [path, search] = hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/");
  const id = rest.length > 0 ? decode(rest.join("/")) : undefined;
  return { page, id, query: new URLSearchParams(search) };
}

/** Decodes a part of an address. It returns a malformed part unchanged, since readers may type addresses. */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Puts filters into the address without a new entry in the browser's history, and makes the page load its data again. */
export function setQuery(changes) {
  const { page, id, query } = readAddress();
  history.replaceState(null, "", href(page, id, { ...Object.fromEntries(query), ...changes }));
  dispatchEvent(new Event("portico:changed"));
}

/** Creates a link to an entry of a page. `isCurrent` marks the entry that is open next to the list. */
export function entryLink(page, id, text, { isCurrent, query } = {}) {
  return h(
    "a",
    {
      href: href(page, id, query),
      "data-key": `${page}-${id}`,
      "aria-current": isCurrent ? "true" : null,
    },
    text ?? id,
  );
}
