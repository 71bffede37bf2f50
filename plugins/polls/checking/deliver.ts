/** Turns what is new into deliveries of the payload. */
import { clip, shorten } from "portico/strings";
import { exactJson, type Principal } from "portico";
import type { TurnRequest } from "portico/agent";
import { withEventValues } from "portico/deliveries";
import type { PayloadDelivery, PayloadSpec, ScheduleTools } from "portico/schedules";
import { digest } from "../poll.ts";
import type { Source } from "../schema.ts";
import { HOOK, type HookBody } from "./hooks.ts";
import { hasPlaceholders, render, type TemplateValues } from "./template.ts";

const DATA_CHARS = 20_000;
const SUMMARY_CHARS = 100_000;
const SUMMARY_LINE_CHARS = 300;

interface Fenced {
  label: string;
  text: string;
}

export interface News {
  pollId: string;
  /** Whom it is done for. */
  principal: Principal;
  name: string;
  /** URL or path. */
  place: string;
  /** Unique to this check. */
  checkKey: string;
  /** Its entry in the history. */
  runId: string;
  items: readonly unknown[];
  diff?: string;
  maxItems: number;
  payload: PayloadSpec;
}

const asJson = (value: unknown, indent?: number): string =>
  exactJson.stringify(value, indent) ?? String(value);

const DEFAULT_TEXTS: Readonly<Record<Source["kind"], string>> = {
  http: "{name}: {url} has changed.\n{diff}",
  html: "{name}: {url} has changed.\n{diff}",
  feed: "{name}: {item.title} {item.link}",
  file: "{name}: {url} has changed. {item.name}\n{diff}",
  json: "{name}: {json item}",
};

/** The payload of a poll whose definition has none. */
export function defaultPayload(kind: Source["kind"]): PayloadSpec {
  return { kind: "systemEvent", text: DEFAULT_TEXTS[kind] };
}

/** One delivery for each item, oldest first; from `maxItems` on, one delivery lists the rest. */
export function deliverNews(tools: ScheduleTools, news: News): PayloadDelivery[] {
  const { items, maxItems } = news;
  const single = items.slice(0, items.length > maxItems ? maxItems - 1 : maxItems);
  const rest = items.slice(single.length);
  const deliveries = single.map((item, index) => deliverOne(tools, news, item, index));
  if (rest.length > 0) deliveries.push(deliverRest(tools, news, rest));
  return deliveries;
}

/** `poll:changed` comes with every change anyway, and is not delivered a second time. */
function deliverHook(
  { pollId, principal, runId }: News,
  key: string,
  event: string,
  context: object,
): PayloadDelivery {
  if (event === "poll:changed") return { items: [] };
  const body: HookBody = { event, context: { ...context, deliveryId: key }, principal, runId };
  return { items: [{ id: `hook_${key}`, lane: `poll:${pollId}`, kind: HOOK, body }] };
}

function valuesOf({ pollId, name, place, items, diff }: News, item: unknown): TemplateValues {
  return { item, url: place, count: items.length, name, id: pollId, diff: diff ?? "" };
}

const metadataOf = ({ pollId, name, place, items }: News): Record<string, unknown> => ({
  source: "poll",
  pollId,
  poll: name,
  url: place,
  count: items.length,
});

function deliverOne(
  tools: ScheduleTools,
  news: News,
  item: unknown,
  index: number,
): PayloadDelivery {
  const { payload } = news;
  const values = valuesOf(news, item);
  const key = `poll_${digest(`${news.checkKey} ${index}`)}`;
  if (payload.kind === "hook") {
    const { name, pollId, place: url, items, diff } = news;
    const context = {
      pollId,
      name,
      url,
      item,
      count: items.length,
      diff: diff || undefined,
      ...payload.context,
    };
    return deliverHook(news, key, payload.event, context);
  }
  const order = {
    source: "poll",
    principal: news.principal,
    key,
    metadata: metadataOf(news),
    defaultSession: `poll:${news.pollId}:${key.slice(5, 13)}`,
  };
  if (payload.kind === "systemEvent") {
    return tools.deliver({ ...order, payload: { ...payload, text: render(payload.text, values) } });
  }
  const session = payload.session && sessionOf(payload.session, values, news.principal);
  const { message, untrusted } = prompt(payload.message, values, news);
  const delivery = deliveryFor(payload.delivery, values);
  return tools.deliver({
    ...order,
    payload: { ...payload, session, message, delivery },
    untrusted,
  });
}

type TurnPayload = Extract<PayloadSpec, { kind: "agentTurn" }>;

/** Where the result goes, with what the item has for its placeholders. */
function deliveryFor(
  delivery: TurnPayload["delivery"],
  values: TemplateValues,
): TurnPayload["delivery"] {
  if (typeof delivery !== "object") return delivery;
  return withEventValues(delivery, (placeholder) => render(placeholder, values));
}

/**
 * A session whose name begins with what the poll has found could be anybody's: it lies among those of the poll. One that
 * begins with the owner's words is what these words make of it.
 */
function sessionOf(template: string, values: TemplateValues, principal: Principal): string {
  const session = render(template, values);
  const isOwners = !template.startsWith("{") || session === template;
  return isOwners ? session : `${principal}:${session}`;
}

/**
 * The task stays in the owner's own words. What came from outside, the filled-in template among it, goes into fences:
 * a title must not be able to give orders.
 */
function prompt(
  template: string,
  values: TemplateValues,
  { diff }: News,
): Pick<TurnRequest, "message"> & { untrusted: Fenced[] } {
  const untrusted: Fenced[] = [];
  let message = template;
  if (hasPlaceholders(template, values)) {
    message = `${template}\n\n(Words in braces stand for data from outside. The text with the data filled in, and the data, are below.)`;
    untrusted.push({
      label: "the task with the data filled in",
      text: clip(render(template, values), DATA_CHARS),
    });
  }
  untrusted.push({ label: "item", text: clip(asJson(values["item"], 2), DATA_CHARS) });
  if (diff) untrusted.push({ label: "diff", text: clip(diff, DATA_CHARS) });
  return { message, untrusted };
}

function deliverRest(tools: ScheduleTools, news: News, rest: readonly unknown[]): PayloadDelivery {
  const { payload, name, pollId, place: url, items } = news;
  const key = `poll_${digest(`${news.checkKey} rest`)}`;
  if (payload.kind === "hook") {
    const context = {
      pollId,
      name,
      url,
      items: rest,
      count: items.length,
      summary: true,
      ...payload.context,
    };
    return deliverHook(news, key, payload.event, context);
  }
  const intro = `${name}: ${rest.length} more of ${items.length} new items at ${url}`;
  // All are named, however many: the more there are, the shorter each one's line.
  const room = Math.max(40, Math.min(SUMMARY_LINE_CHARS, Math.floor(SUMMARY_CHARS / rest.length)));
  const lines = rest.map((item) => `- ${shorten(asJson(item), room)}`).join("\n");
  const order = {
    source: "poll",
    principal: news.principal,
    key,
    metadata: { ...metadataOf(news), summary: true },
    defaultSession: `poll:${pollId}:${key.slice(5, 13)}`,
  };
  if (payload.kind === "systemEvent") {
    return tools.deliver({ ...order, payload: { ...payload, text: `${intro}\n${lines}` } });
  }
  const { session: _, ...task } = payload;
  const message = `${payload.message}\n\n(This is for all of the ${rest.length} remaining items of a poll, which are listed below.)`;
  const delivery = deliveryFor(payload.delivery, valuesOf(news, rest));
  return tools.deliver({
    ...order,
    payload: { ...task, message, delivery },
    untrusted: [{ label: intro, text: lines }],
  });
}
