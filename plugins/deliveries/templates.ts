/**
 * Templates of a delivery, for receivers that expect a format of their own: the path of the address, headers and body.
 *
 * `{result}`, `{session}`, `{turnId}`, `{status}` (`completed` or `failed`) and `{error}` get their values when the turn
 * has ended. Placeholders of the event, such as `{body.issue.number}` of a webhook, get theirs when the turn is queued; the
 * target stores them as `values`. `{json …}` writes a value as JSON.
 */
import { errors } from "./errors.ts";
import type { DeliveryMessage, DeliveryTarget, StoredTarget } from "./message.ts";

const PLACEHOLDER = /\{(json\s+)?([A-Za-z][^{}]*)\}/g;
const TURN_NAMES = ["result", "session", "sessionId", "turnId", "type", "status", "error"];

/** A request to a receiver; `body` is the text that goes over the wire. */
export interface RenderedDelivery {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Returns the event's placeholders in a target as they are written, without those of the turn itself. */
export function eventPlaceholders(target: DeliveryTarget | StoredTarget): string[] {
  const { url, body } = target;
  const inHeaders =
    "placeholders" in target
      ? (target.placeholders ?? [])
      : findHeaderPlaceholders((target as DeliveryTarget).headers);
  return [...new Set([...findPlaceholders([url, ...collectTexts(body)]), ...inHeaders])];
}

/** Returns the event's placeholders in a target's headers. */
export function findHeaderPlaceholders(headers: DeliveryTarget["headers"] = {}): string[] {
  return findPlaceholders(Object.values(headers));
}

function findPlaceholders(texts: readonly string[]): string[] {
  const matches = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)]);
  return matches
    .filter(([, , name = ""]) => !TURN_NAMES.includes(name))
    .map(([placeholder]) => placeholder);
}

/** Adds the values of the event's placeholders. `render` returns a placeholder that the event does not have unchanged. */
export function withEventValues<T extends DeliveryTarget | StoredTarget>(
  target: T,
  render: (placeholder: string) => string,
): T {
  const placeholders = eventPlaceholders(target);
  if (placeholders.length === 0) return target;
  const values = placeholders.map((placeholder) => [placeholder, render(placeholder)] as const);
  return { ...target, values: Object.fromEntries(values) };
}

/** Throws `invalid_request_error` for a placeholder that would choose the receiver. */
export function checkTemplates({ url }: Pick<DeliveryTarget, "url">, param: string): void {
  const [, origin = ""] = /^(https?:\/\/[^/?#]*)/i.exec(url) ?? [];
  if (!/[{}]/.test(origin)) return;
  const key = `${param}.url`;
  throw errors.placeholderInHost({ key }, { param: key });
}

/** Fills in the templates of a target. A target without a body of its own gets the message as JSON. */
export function renderDelivery(target: DeliveryTarget, message: DeliveryMessage): RenderedDelivery {
  const values = { ...createTurnValues(message), ...target.values };
  const fill = (text: string): string =>
    text.replace(PLACEHOLDER, (placeholder) =>
      Object.hasOwn(values, placeholder) ? (values[placeholder] ?? "") : placeholder,
    );
  const headers = Object.entries(target.headers ?? {}).map(([name, text]) => [
    name.toLowerCase(),
    toHeaderText(fill(text)),
  ]);
  const body = renderBody(target, message, fill);
  return {
    url: target.url.replace(PLACEHOLDER, (placeholder) =>
      Object.hasOwn(values, placeholder)
        ? encodeURIComponent(values[placeholder] ?? "")
        : placeholder,
    ),
    headers: { "content-type": detectContentType(body), ...Object.fromEntries(headers) },
    body,
  };
}

function renderBody(
  { body }: DeliveryTarget,
  message: DeliveryMessage,
  fill: (text: string) => string,
): string {
  if (body === undefined) return JSON.stringify(message);
  return typeof body === "string" ? fill(body) : JSON.stringify(mapTexts(body, fill));
}

/** Returns the JSON type for a body that is JSON, since most receivers accept nothing else. */
function detectContentType(body: string): string {
  try {
    JSON.parse(body);
    return "application/json";
  } catch {
    return "text/plain; charset=utf-8";
  }
}

/** Returns the values of the turn's placeholders. The result of a failed turn is its error, so that receivers show it. */
function createTurnValues({ type, data }: DeliveryMessage): Record<string, string> {
  const failure = (data["error"] as { message?: string } | undefined)?.message ?? "";
  const session = String(data["sessionId"] ?? "");
  const values: Record<string, string> = {
    result: failure === "" ? String(data["result"] ?? "") : `The turn failed: ${failure}`,
    session,
    sessionId: session,
    turnId: String(data["turnId"] ?? ""),
    type,
    status: failure === "" ? "completed" : "failed",
    error: failure,
  };
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => [
      [`{${name}}`, value],
      [`{json ${name}}`, JSON.stringify(value)],
    ]),
  );
}

/** Makes a text a valid header, which is one line of printable Latin-1. */
const toHeaderText = (text: string): string =>
  text.replace(/[^\t\x20-\x7e\xa0-\xff]+/g, " ").trim();

function collectTexts(value: unknown): string[] {
  const texts: string[] = [];
  mapTexts(value, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]),
  );
}
