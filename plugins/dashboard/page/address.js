/** The address of what is shown: a page, an entry of it, and filters, as in `#/requests/req_1?key=ci`. */
import { h } from "./elements.js";

const isSet = ([, value]) => value !== undefined && value !== null && value !== "";

/** `query`: an object or `URLSearchParams`; empty values are left out. */
export function href(page, id, query = {}) {
  const entries = query instanceof URLSearchParams ? [...query] : Object.entries(query);
  const search = new URLSearchParams(entries.filter(isSet)).toString();
  const path = id === undefined ? page : `${page}/${encodeURIComponent(id)}`;
  return `#/${path}${search === "" ? "" : `?${search}`}`;
}

/** `{ page, id, query }` of an address, by default of the current one. */
export function readAddress(hash = location.hash) {
  const [path, search] = hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/");
  const id = rest.length > 0 ? decode(rest.join("/")) : undefined;
  return { page, id, query: new URLSearchParams(search) };
}

/** A typed address may be malformed. */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Puts filters into the address, without a step in the browser's history, and lets the page load its data again. */
export function setQuery(changes) {
  const { page, id, query } = readAddress();
  history.replaceState(null, "", href(page, id, { ...Object.fromEntries(query), ...changes }));
  dispatchEvent(new Event("portico:changed"));
}

/** A link to an entry of a page. `isCurrent` marks the entry that is open beside the list. */
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
