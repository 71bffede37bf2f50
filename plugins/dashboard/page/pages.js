/** The pages of the console, in the order of the navigation. */
import { audit } from "./views/audit.js";
import { browser } from "./views/browser.js";
import { channels } from "./views/channels.js";
import { chat } from "./views/chat.js";
import { configuration } from "./views/configuration.js";
import { cron } from "./views/cron.js";
import { deliveries } from "./views/deliveries.js";
import { events } from "./views/events.js";
import { gateways } from "./views/gateways.js";
import { hooks } from "./views/hooks.js";
import { keys } from "./views/keys.js";
import { logs } from "./views/logs.js";
import { mapping } from "./views/mapping.js";
import { overview } from "./views/overview.js";
import { plugins } from "./views/plugins.js";
import { polls } from "./views/polls.js";
import { requests } from "./views/requests.js";
import { sessions } from "./views/sessions.js";
import { turns } from "./views/turns.js";
import { usage } from "./views/usage.js";
import { webhooks } from "./views/webhooks.js";

/**
 * Each page has an `id`, which is its address, a `title`, and one of two ways to render:
 *
 * - `load(id, query)` and `render(data, id, query)`: the console loads the data every `everyMs` and after each change, and
 *   draws it again only if it differs;
 * - `mount(root, signal, id, query)`: the page draws itself until the signal aborts.
 *
 * `id` is the open entry (`#/requests/req_1`), `query` the `URLSearchParams` of the address (`#/requests?key=ci`).
 *
 * A page with `detail`, which renders in the same two ways, shows the open entry next to its list. Its heading is
 * `detail.title(id)` until `detail.name(data)` returns a name. `tools(query)` creates an element above the list that is drawn
 * once, such as a form of filters that calls `setQuery`. A page `of` another one is not in the navigation.
 */
export const groups = [
  { title: "Observe", pages: [overview, requests, usage, events, logs] },
  {
    title: "Build",
    pages: [chat, hooks, plugins, turns, sessions, webhooks, mapping, cron, polls, browser],
  },
  { title: "Run", pages: [channels, keys, configuration, audit, deliveries, gateways] },
];

export const pages = groups.flatMap(({ pages }) => pages);
