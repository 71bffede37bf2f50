/** Signs readers in and out, shows the page that the address names, and refreshes it. */
import { ApiError, forgetToken, hasToken, withTimeout } from "./api.js";
import { emptyText, fill, h, hideError, href, notice, readAddress, tick, withCode } from "./dom.js";
import { follow } from "./feed.js";
import { hideNavigation, markPage, showNavigation } from "./navigation.js";
import { pages } from "./pages.js";
import { every } from "./rounds.js";
import { signInForm } from "./sign-in.js";

const ROUND_MS = 3000;

const main = document.getElementById("main");
const content = document.getElementById("content");
const health = document.getElementById("health");
const signOut = document.getElementById("sign-out");
/** The controller of the session, which aborts when the reader signs out. */
let session;
/** The current page: `{ page, controller, body, list, redraw, entry }`. */
let current;

function showSignIn(message) {
  session?.abort();
  current?.controller.abort();
  session = undefined;
  forgetToken();
  dispatchEvent(new Event("portico:signed-out"));
  hideNavigation();
  hideError();
  signOut.hidden = true;
  health.textContent = "";
  document.title = "Sign in · Portico";
  content.replaceChildren(
    signInForm(message, () => {
      startSession();
      main.focus({ preventScroll: true });
    }),
  );
  document.getElementById("token").focus();
}

function startSession() {
  session = new AbortController();
  signOut.hidden = false;
  showNavigation();
  void follow(session.signal);
  every(ROUND_MS, session.signal, async () => {
    const { isReady, text } = await readReadiness();
    health.textContent = text;
    health.className = isReady ? "good" : "bad";
  });
  showAddress();
}

async function readReadiness() {
  try {
    const { plugins } = await withTimeout(async (signal) => {
      const answer = await fetch("/ready", {
        cache: "no-store",
        signal,
        headers: { "x-portico-poll": "1" },
      });
      return answer.json();
    });
    if (plugins.length === 0) return { isReady: true, text: "ready" };
    return { isReady: false, text: `not ready: ${plugins.join(", ")}` };
  } catch {
    return { isReady: false, text: "The gateway does not respond" };
  }
}

/** Shows the page of the address. Within the same page, only the open entry changes; the list stays. */
function showAddress(previous) {
  if (!session) return;
  const { page: pageId, id, query } = readAddress();
  const page = pages.find((each) => each.id === pageId) ?? pages[0];
  hideError();
  const isSamePage = previous?.page === pageId && String(previous.query) === String(query);
  if (isSamePage && page.detail && current?.page === page) return showEntry(id, previous.id);
  showPage(page, id, query);
  if (previous) main.focus({ preventScroll: true });
}

function showPage(page, id, query) {
  current?.controller.abort();
  const controller = new AbortController();
  const list = h("div", { class: `view ${page.id}` });
  const body = h("div", { class: "page" }, list);
  current = { page, controller, body, list };
  document.title = `${page.title} · Portico`;
  markPage(page.of ?? page.id);
  content.replaceChildren(
    ...[h("h2", { class: "page-title" }, page.title), page.tools?.(query), body].filter(Boolean),
  );
  current.redraw = start(page, list, controller.signal);
  if (page.detail && id !== undefined) openEntry(id);
}

/** Opens another entry of the page, or closes the open one if `id` is undefined. */
function showEntry(id, previousId) {
  current.entry?.abort();
  current.body.querySelector(":scope > .detail")?.remove();
  current.body.classList.remove("beside");
  current.redraw?.();
  if (id !== undefined) return openEntry(id);
  const link = current.list.querySelector(
    `[data-key="${CSS.escape(`${current.page.id}-${previousId}`)}"]`,
  );
  (link ?? main).focus({ preventScroll: true });
}

function openEntry(id) {
  const { page, controller, body } = current;
  const close = () => {
    location.hash = href(page.id, undefined, readAddress().query);
  };
  current.entry = new AbortController();
  const signal = AbortSignal.any([controller.signal, current.entry.signal]);
  const root = h("div", {});
  const heading = h("h2", {}, page.detail.title?.(id) ?? id);
  const pane = h(
    "section",
    { class: "detail", "aria-label": `${page.title}: ${id}` },
    h("div", { class: "title" }, heading, h("button", { type: "button", onclick: close }, "Close")),
    root,
  );
  const closeByKey = ({ key, target }) => {
    const isElsewhere = target.matches("input, textarea, select, dialog, dialog *");
    if (key === "Escape" && !isElsewhere) close();
  };
  addEventListener("keydown", closeByKey, { signal });
  body.classList.add("beside");
  body.append(pane);
  start({ ...page.detail, loaded: (data) => nameEntry(page, heading, data) }, root, signal, {
    id,
    errorNotice: entryNotice,
  });
}

/** Replaces the id in the heading by a name for readers, if the page has one. */
function nameEntry({ detail }, heading, data) {
  const name = detail.name?.(data);
  if (name !== undefined && heading.textContent !== name) heading.textContent = name;
}

/** Shows the error of an entry. For an entry that does not exist, it shows only the message. */
function entryNotice(error) {
  if (error.status !== 404) return notice(error);
  return h("p", { class: "notice" }, withCode(error.message));
}

/**
 * Lets a page, or its detail for the entry `id`, draw itself into `root` until the signal aborts. Returns a function that
 * draws it again, or undefined for a view that draws itself.
 */
function start(view, root, signal, { id: entryId, errorNotice = notice } = {}) {
  const { page, id, query } = readAddress();
  /** Returns undefined if the address already names another page, which the browser reports a moment later. */
  const ownAddress = () => {
    const address = readAddress();
    return address.page === page ? { ...address, id: entryId ?? address.id } : undefined;
  };
  if (view.mount) {
    void view.mount(root, signal, id, query);
    return undefined;
  }
  fill(root, emptyText("Loading …"));
  let data;
  let drawnState;
  const draw = () => {
    const address = ownAddress();
    if (data === undefined || address === undefined) return;
    const text = JSON.stringify([data, address.id, String(address.query)]);
    // To draw the same content again would lose a selection or a scroll position.
    if (text === drawnState) return;
    drawnState = text;
    fill(root, view.render(data, address.id, address.query));
    view.loaded?.(data);
  };
  const refresh = async () => {
    const address = ownAddress();
    if (address === undefined) return;
    try {
      const loaded = await view.load(address.id, address.query);
      if (signal.aborted) return;
      data = loaded;
      draw();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!signal.aborted) fill(root, errorNotice(error));
      drawnState = undefined;
    }
  };
  addEventListener("portico:changed", refresh, { signal });
  void every(view.everyMs ?? ROUND_MS, signal, refresh);
  return draw;
}

addEventListener("hashchange", ({ oldURL }) => showAddress(readAddress(new URL(oldURL).hash)));
addEventListener("portico:refused", () => {
  if (session) showSignIn("The gateway no longer accepts that token. Sign in again.");
});
signOut.addEventListener("click", () => showSignIn());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
setInterval(tick, 1000);

if (hasToken()) startSession();
else showSignIn();
