/** Signing in, the sections, and the round of asking. */
import { ApiError, attempt, forgetToken, get, hasToken, inTime, keepToken } from "./api.js";
import { fill, h, notice, tick } from "./dom.js";
import { follow } from "./feed.js";
import { every } from "./rounds.js";
import { browser } from "./views/browser.js";
import { chat } from "./views/chat.js";
import { configuration } from "./views/configuration.js";
import { deliveries } from "./views/deliveries.js";
import { events } from "./views/events.js";
import { hooks, plugins } from "./views/extensions.js";
import { logs } from "./views/logs.js";
import { mapping } from "./views/mapping.js";
import { overview } from "./views/overview.js";
import { requests } from "./views/requests.js";
import { cron, polls } from "./views/schedules.js";
import { sessions } from "./views/sessions.js";
import { keys, usage } from "./views/usage.js";
import { turns } from "./views/work.js";

/**
 * A view either has `load(arg)` and `render(data, arg)`, asked again every `everyMs`, or `mount(root, signal, arg)` for
 * one that lives by itself. One `of` another is not in the navigation.
 */
const views = [
  overview,
  chat,
  requests,
  events,
  hooks,
  plugins,
  sessions,
  turns,
  cron,
  polls,
  deliveries,
  mapping,
  browser,
  usage,
  keys,
  configuration,
  logs,
];
const ROUND_MS = 3000;

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const health = document.getElementById("health");
const signOut = document.getElementById("sign-out");
let signedIn;
let shown;

function showSignIn(message) {
  signedIn?.abort();
  shown?.abort();
  signedIn = undefined;
  forgetToken();
  dispatchEvent(new Event("portico:signed-out"));
  nav.hidden = signOut.hidden = true;
  health.textContent = "";
  document.title = "Sign in · Portico";
  const input = h("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "sign-in-problem",
  });
  const button = h("button", { type: "submit", class: "primary" }, "Sign in");
  const trouble = h("p", { id: "sign-in-problem", class: "problem", role: "alert" }, message ?? "");
  const onsubmit = async (event) => {
    event.preventDefault();
    const given = input.value.trim();
    // No header takes others: it would seem that the gateway does not answer.
    if (/[^\x20-\xff]/.test(given)) {
      trouble.textContent = "That token is not right: it has letters that a browser cannot send.";
      return input.select();
    }
    button.disabled = true;
    trouble.textContent = "";
    keepToken(given);
    const { error } = await attempt(get("/kernel/status"));
    button.disabled = false;
    if (!error) {
      showAll();
      return main.focus({ preventScroll: true });
    }
    forgetToken();
    trouble.textContent = error.status === 401 ? "That token is not right." : error.message;
    input.select();
  };
  main.replaceChildren(
    h(
      "form",
      { class: "sign-in", onsubmit },
      h("h2", {}, "Sign in"),
      h("label", { for: "token" }, "The gateway's token or password"),
      input,
      trouble,
      button,
      h("p", { class: "hint" }, "On the gateway's machine, this prints it:"),
      h("pre", {}, "portico config get gateway.auth.token --reveal"),
      h("p", { class: "hint" }, "It is kept until this tab is closed, and nowhere else."),
    ),
  );
  input.focus();
}

function showAll() {
  signedIn = new AbortController();
  nav.hidden = signOut.hidden = false;
  nav.replaceChildren(
    ...views.filter(({ of }) => !of).map(({ id, title }) => h("a", { href: `#/${id}` }, title)),
  );
  void follow(signedIn.signal);
  every(ROUND_MS, signedIn.signal, async () => {
    const ready = await askReady();
    health.textContent = ready.text;
    health.className = ready.ok ? "good" : "bad";
  });
  showView();
}

async function askReady() {
  try {
    const { plugins } = await inTime(async (signal) =>
      (
        await fetch("/ready", { cache: "no-store", signal, headers: { "x-portico-poll": "1" } })
      ).json(),
    );
    return plugins.length === 0
      ? { ok: true, text: "ready" }
      : { ok: false, text: `not ready: ${plugins.join(", ")}` };
  } catch {
    return { ok: false, text: "The gateway does not answer" };
  }
}

/** An address that somebody typed need not be a good one. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function showView() {
  if (!signedIn) return;
  const [id, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const view = views.find((each) => each.id === id) ?? overview;
  const arg = rest.length > 0 ? decoded(rest.join("/")) : undefined;
  shown?.abort();
  shown = new AbortController();
  const { signal } = shown;
  document.title = `${view.title} · Portico`;
  for (const link of nav.children) {
    if (link.hash === `#/${view.of ?? view.id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  const root = h("div", { class: `view ${view.id}` }, h("p", { class: "empty" }, "Asking …"));
  main.replaceChildren(root);
  if (view.mount) return view.mount(root, signal, arg);

  let last;
  const refresh = async () => {
    let data;
    try {
      data = await view.load(arg);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!signal.aborted) fill(root, notice(error));
      last = undefined;
      return;
    }
    const text = JSON.stringify(data);
    // What has not changed stays: a selection, a scroll position, a focus.
    if (signal.aborted || text === last) return;
    const isFirst = last === undefined;
    last = text;
    fill(root, view.render(data, arg));
    // what was opened stands last, perhaps below a long list
    if (isFirst && arg !== undefined)
      root.querySelector("section:last-of-type")?.scrollIntoView({ block: "nearest" });
  };
  every(view.everyMs ?? ROUND_MS, signal, refresh);
  addEventListener("portico:changed", refresh, { signal });
}

addEventListener("hashchange", () => {
  showView();
  main.focus({ preventScroll: true });
});
addEventListener("portico:refused", () => {
  if (signedIn) showSignIn("The gateway no longer takes that token. Sign in again.");
});
signOut.addEventListener("click", () => showSignIn());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
setInterval(tick, 1000);

if (hasToken()) showAll();
else showSignIn();
