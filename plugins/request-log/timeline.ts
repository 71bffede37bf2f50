/** Formats one request as lines of text. */
import type { AttemptView, HookView, RequestDetails } from "./view.ts";

export function timeline(request: RequestDetails): string[] {
  const { headers, prompt, response } = request;
  return [
    ...facts(request),
    "",
    ...events(request),
    ...(Object.keys(headers).length > 0 ? ["", "Headers of the response"] : []),
    ...Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`),
    ...section("Prompt", prompt),
    ...section("Response", response),
  ];
}

export function dollars(usd: number): string {
  return `$${usd.toLocaleString("en", { maximumSignificantDigits: 4 })}`;
}

function facts(request: RequestDetails): string[] {
  const rows: [string, string | undefined][] = [
    ["Request", request.id],
    ["At", request.at],
    ["Outcome", `${request.outcome}, status ${request.status}, ${request.ms} ms`],
    ["Error", errorOf(request)],
    ["Key", request.key ?? undefined],
    ["Principal", request.principal],
    ["Address", request.address],
    ["Route", request.route],
    ["Requested", aliasOf(request)],
    ["Served by", targetOf(request)],
    ["Tokens", tokensOf(request)],
    ["Cost", request.costUsd === undefined ? undefined : dollars(request.costUsd)],
    ["Tags", request.tags?.join(", ")],
  ];
  return rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(12)} ${value}`],
  );
}

function errorOf({ error }: RequestDetails): string | undefined {
  if (error === undefined) return undefined;
  const limit = error.limit === undefined ? "" : ` (limit ${error.limit})`;
  return `${error.code}${limit}: ${error.message}`;
}

function aliasOf({ alias, fallbacks, stream }: RequestDetails): string | undefined {
  if (alias === undefined) return undefined;
  return [alias, ...(fallbacks ?? [])].join(", then ") + (stream === true ? ", as a stream" : "");
}

function targetOf({ channel, model, cached }: RequestDetails): string | undefined {
  if (channel === undefined) return undefined;
  return `${channel} / ${model ?? "-"}${cached === true ? ", from the cache" : ""}`;
}

function tokensOf(request: RequestDetails): string | undefined {
  const { promptTokens, completionTokens = 0, cachedTokens, estimated } = request;
  if (promptTokens === undefined) return undefined;
  const cached = cachedTokens ? ` (${cachedTokens} of them cached)` : "";
  const hint = estimated === true ? ", estimated" : "";
  return `${promptTokens} prompt${cached}, ${completionTokens} completion${hint}`;
}

/** Lists hooks in the order of their first run, with the attempts between them. */
function events({ hooks, attempts }: RequestDetails): string[] {
  const before = hooks.filter(({ event }) => isBefore(event)).map(hookLine);
  const after = hooks.filter(({ event }) => !isBefore(event)).map(hookLine);
  return [...before, ...attempts.map(attemptLine), ...after];
}

/** Returns true for events that come before any attempt. */
function isBefore(event: string): boolean {
  return event === "message:received" || event === "chat:request";
}

function hookLine(hook: HookView): string {
  const { name, event, runs, ms, fields, effect, failures, error, changes = [] } = hook;
  const details = [
    fields.length > 0 ? `changed ${fields.join(", ")}` : "changed nothing",
    effect,
    failures === undefined ? undefined : `failed ${failures} times: ${error}`,
    runs > 1 ? `${runs} runs` : undefined,
  ].filter((text) => text !== undefined);
  const texts = changes.map(
    ({ field, before, after }) =>
      `\n    ${field}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`,
  );
  return `  hook ${name} on ${event}: ${details.join(", ")}; ${ms} ms${texts.join("")}`;
}

function attemptLine(attempt: AttemptView): string {
  const { channel, model, startMs, ms, firstByteMs, status, code, cause, skipped } = attempt;
  const prefix = `  +${startMs} ms ${channel} / ${model}:`;
  if (skipped === true) return `${prefix} skipped, ${cause}`;
  // An upstream that did not respond has the status 0.
  const parts = [
    status ? `status ${status}` : "no response",
    firstByteMs === undefined ? undefined : `first byte after ${firstByteMs} ms`,
    ms === undefined ? undefined : `${ms} ms`,
  ];
  const failure = code === undefined ? "" : `; ${code}: ${cause}`;
  return `${prefix} ${parts.filter((part) => part !== undefined).join(", ")}${failure}`;
}

function section(title: string, value: unknown): string[] {
  if (value === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return ["", title, ...text.split("\n").map((line) => `  ${line}`)];
}
