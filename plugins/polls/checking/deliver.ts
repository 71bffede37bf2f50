/** Creates deliveries of the payload for new items. */
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

interface FencedText {
  label: string;
  text: string;
}

export interface News {
  pollId: string;
  /** The principal on whose behalf the payload is delivered. */
  principal: Principal;
  name: string;
  /** The URL or path of the source. */
  place: string;
  /** A key that is unique to this check. */
  checkKey: string;
  /** The id of the check in the history. */
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

/** Returns the payload of a poll whose definition has none. */
export function getDefaultPayload(kind: Source["kind"]): PayloadSpec {
  return { kind: "systemEvent", text: DEFAULT_TEXTS[kind] };
}

/**
 * Returns one delivery for each item, oldest first. If there are more than `maxItems`, the last delivery lists the
 * rest.
 */
export function deliverNews(tools: ScheduleTools, news: News): PayloadDelivery[] {
  const { items, maxItems } = news;
  const singleItems = items.slice(0, items.length > maxItems ? maxItems - 1 : maxItems);
  const remainingItems = items.slice(singleItems.length);
  const deliveries = singleItems.map((item, index) => deliverOne(tools, news, item, index));
  if (remainingItems.length > 0) deliveries.push(deliverRest(tools, news, remainingItems));
  return deliveries;
}

/**
 * Returns the queue item that emits a hook payload's event. `poll:changed` is emitted for every change anyway, so it
 * gets none.
 */
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
  const { message, untrusted } = createPrompt(payload.message, values, news);
  const delivery = deliveryFor(payload.delivery, values);
  return tools.deliver({
    ...order,
    payload: { ...payload, session, message, delivery },
    untrusted,
  });
}

type TurnPayload = Extract<PayloadSpec, { kind: "agentTurn" }>;

/** Fills in the placeholders of the delivery target with the values of the item. */
function deliveryFor(
  delivery: TurnPayload["delivery"],
  values: TemplateValues,
): TurnPayload["delivery"] {
  if (typeof delivery !== "object") return delivery;
  return withEventValues(delivery, (placeholder) => render(placeholder, values));
}

/**
 * Returns the name of the session. If the template begins with a placeholder, content from outside could name any session,
 * so the name is put below the poll's principal. If it begins with the owner's text, it is used as it is.
 */
function sessionOf(template: string, values: TemplateValues, principal: Principal): string {
  const session = render(template, values);
  const isOwners = !template.startsWith("{") || session === template;
  return isOwners ? session : `${principal}:${session}`;
}

/**
 * Creates the prompt. The task stays as the owner wrote it. Data from outside, including the filled-in template, goes into
 * fences, so that a title cannot give instructions.
 */
function createPrompt(
  template: string,
  values: TemplateValues,
  { diff }: News,
): Pick<TurnRequest, "message"> & { untrusted: FencedText[] } {
  const untrusted: FencedText[] = [];
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

function deliverRest(
  tools: ScheduleTools,
  news: News,
  remainingItems: readonly unknown[],
): PayloadDelivery {
  const { payload, name, pollId, place: url, items } = news;
  const key = `poll_${digest(`${news.checkKey} rest`)}`;
  if (payload.kind === "hook") {
    const context = {
      pollId,
      name,
      url,
      items: remainingItems,
      count: items.length,
      summary: true,
      ...payload.context,
    };
    return deliverHook(news, key, payload.event, context);
  }
  const intro = `${name}: ${remainingItems.length} more of ${items.length} new items at ${url}`;
  // All items are listed, however many, so the lines get shorter the more there are.
  const lineChars = Math.max(
    40,
    Math.min(SUMMARY_LINE_CHARS, Math.floor(SUMMARY_CHARS / remainingItems.length)),
  );
  const lines = remainingItems.map((item) => `- ${shorten(asJson(item), lineChars)}`).join("\n");
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
  const message = `${payload.message}\n\n(This is for all of the ${remainingItems.length} remaining items of a poll, which are listed below.)`;
  const delivery = deliveryFor(payload.delivery, valuesOf(news, remainingItems));
  return tools.deliver({
    ...order,
    payload: { ...task, message, delivery },
    untrusted: [{ label: intro, text: lines }],
  });
}
