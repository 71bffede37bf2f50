/** One request while it is looked at, and its row in the delivery log. */
import { type Call, exactJson, isPorticoError } from "portico";
import { newId } from "portico/agent";
import type { NewDelivery } from "portico/store";
import type { Job } from "../job.ts";
import { isBinary } from "../bodies/read.ts";
import { maskFields, maskText, withoutSecrets } from "../mask.ts";
import type { Request } from "../mappings/paths.ts";
import type { Mismatch } from "../mappings/match.ts";
import type { Plan, Reading, Target } from "../plan.ts";
import type { LimitState } from "./limit.ts";
import type { Credential, Settings } from "../settings.ts";

/** Of a refused request's body; an accepted one is kept whole, to be replayed. */
const REFUSED_PAYLOAD_CHARS = 64 * 1024;

export interface Visit {
  call: Call;
  target: Target;
  settings: Settings;
  headers: Record<string, string>;
  query: Record<string, string>;
  raw?: Buffer;
  /** The body as it was sent, where that is compressed. */
  wire?: Buffer;
  credential?: Credential;
  /** What the answer says about limits. */
  limit?: LimitState;
  plan?: Plan;
  /** It has its row in the delivery log. */
  isLogged?: boolean;
}

/** The request as mappings see it: plain values. */
export function requestOf(visit: Visit, { body, variants }: Reading): Request {
  const { target, settings, headers, query } = visit;
  if (target.kind === "wake" || target.kind === "agent") return new UnmappedRequest(body, visit);
  return {
    body,
    variants,
    headers: withoutSecrets(headers, settings.secrets),
    query: withoutSecrets(query, settings.secrets),
  };
}

/** One that goes to no mapping: of that, hardly anybody looks at more than the body. */
class UnmappedRequest implements Request {
  readonly #visit: Visit;

  constructor(
    readonly body: unknown,
    visit: Visit,
  ) {
    this.#visit = visit;
  }

  get headers(): Record<string, string> {
    return withoutSecrets(this.#visit.headers, this.#visit.settings.secrets);
  }

  get query(): Record<string, string> {
    return withoutSecrets(this.#visit.query, this.#visit.settings.secrets);
  }
}

interface Outcome {
  outcome: string;
  itemId?: string | undefined;
  payload?: string | undefined;
  /** The payload is the body's value as JSON, since its bytes are no text. */
  parsed?: boolean | undefined;
  status?: number;
  action?: Job["action"];
  /** Placeholders without a value. */
  missing?: readonly string[] | undefined;
  /** Why nothing was started. */
  reason?: Mismatch | undefined;
  error?: { code: string; message: string };
}

function rowOf(
  visit: Visit,
  { outcome, itemId, payload, parsed, status, action, missing, reason, error }: Outcome,
): NewDelivery {
  const { call, target, settings, headers, query, credential, raw, plan } = visit;
  // an unauthenticated sender gets next to no room on our disk
  const known = credential !== undefined;
  // one literal, since this is made for every request; what is undefined is not stored
  return {
    id: newId("del"),
    source: plan?.source ?? target.source,
    outcome,
    itemId,
    payload: payload === undefined ? undefined : maskText(payload, settings.secrets),
    meta: {
      method: call.method,
      path: call.path.slice(0, 200),
      target: target.path.slice(0, 200),
      query: maskFields(known ? query : clipped(query), settings.secrets),
      headers: maskFields(known ? headers : clipped(headers), settings.secrets),
      address: call.address,
      requestId: call.id,
      bytes: raw?.length ?? 0,
      parsed,
      credential: credential?.name,
      status,
      action,
      missing: missing?.length ? missing : undefined,
      reason: reason && maskReason(reason, settings.secrets),
      error,
    },
  };
}

function maskReason(reason: Mismatch, secrets: readonly string[]): Mismatch {
  const { actual } = reason;
  return typeof actual === "string" ? { ...reason, actual: maskText(actual, secrets) } : reason;
}

/** The beginnings of the first fields, a thousand characters at most. */
function clipped(fields: Readonly<Record<string, string>>): Record<string, string> {
  const beginnings: Record<string, string> = {};
  let room = 1000;
  for (const [name, value] of Object.entries(fields)) {
    const text = value.slice(0, 200);
    room -= name.length + text.length;
    if (room < 0) break;
    beginnings[name] = text;
  }
  return beginnings;
}

export function acceptedRow(visit: Visit, { action, itemId, status }: Job): NewDelivery {
  const { missing, challenge, mismatch: reason } = visit.plan ?? {};
  const idle = challenge ? "challenge" : "skipped";
  const outcome = action === "none" ? idle : "accepted";
  const parsed = isBinary(visit.headers["content-type"], visit.raw ?? Buffer.alloc(0)) || undefined;
  const payload = parsed
    ? exactJson.stringify(visit.plan?.request.body)
    : (visit.raw?.toString("utf8") ?? "");
  return rowOf(visit, { outcome, itemId, status, action, missing, reason, payload, parsed });
}

export function duplicateRow(visit: Visit, itemId: string | undefined): NewDelivery {
  return rowOf(visit, { outcome: "duplicate", itemId });
}

export function refusedRow(visit: Visit, problem: unknown): NewDelivery {
  const { status, code, message } = isPorticoError(problem)
    ? problem
    : { status: 500, code: "internal_error", message: "" };
  const payload =
    visit.credential && visit.raw
      ? visit.raw.toString("utf8", 0, REFUSED_PAYLOAD_CHARS)
      : undefined;
  return rowOf(visit, { outcome: outcomeOf(status), payload, status, error: { code, message } });
}

function outcomeOf(status: number): string {
  if (status === 429) return "limited";
  if (status === 401 || status === 403) return "unauthorized";
  return status >= 500 ? "failed" : "refused";
}
