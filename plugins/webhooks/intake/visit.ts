/** One request during its intake, and its row in the delivery log. */
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

/** The log keeps this much of the body of a refused request, but the whole body of an accepted one for replays. */
const REFUSED_PAYLOAD_CHARS = 64 * 1024;

export interface Visit {
  call: Call;
  target: Target;
  settings: Settings;
  headers: Record<string, string>;
  query: Record<string, string>;
  raw?: Buffer;
  /** The bytes of a compressed body as they were sent. */
  wire?: Buffer;
  credential?: Credential;
  /** The state of the limit that the response shows. */
  limit?: LimitState;
  plan?: Plan;
  /** True if the delivery log has a row of this request. */
  isLogged?: boolean;
}

/** Returns the request as mappings see it, without secrets. */
export function toRequest(visit: Visit, { body, variants }: Reading): Request {
  const { target, settings, headers, query } = visit;
  if (target.kind === "wake" || target.kind === "agent") return new UnmappedRequest(body, visit);
  return {
    body,
    variants,
    headers: withoutSecrets(headers, settings.secrets),
    query: withoutSecrets(query, settings.secrets),
  };
}

/** A request that no mapping handles. It computes headers and query only on demand, since they are rarely used. */
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
  /** True if the payload is the value of the body as JSON, since its bytes are not text. */
  parsed?: boolean | undefined;
  status?: number;
  action?: Job["action"];
  /** The placeholders without a value. */
  missing?: readonly string[] | undefined;
  /** The reason why nothing was started. */
  reason?: Mismatch | undefined;
  error?: { code: string; message: string };
}

function createRow(
  visit: Visit,
  { outcome, itemId, payload, parsed, status, action, missing, reason, error }: Outcome,
): NewDelivery {
  const { call, target, settings, headers, query, credential, raw, plan } = visit;
  // An unauthenticated sender gets little space on the disk.
  const isAuthenticated = credential !== undefined;
  // This is one literal for speed, since each request needs it. The store omits undefined values.
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
      query: maskFields(isAuthenticated ? query : clipFields(query), settings.secrets),
      headers: maskFields(isAuthenticated ? headers : clipFields(headers), settings.secrets),
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

/** Returns the beginnings of the first fields, at most a thousand characters. */
function clipFields(fields: Readonly<Record<string, string>>): Record<string, string> {
  const beginnings: Record<string, string> = {};
  let remainingChars = 1000;
  for (const [name, value] of Object.entries(fields)) {
    const text = value.slice(0, 200);
    remainingChars -= name.length + text.length;
    if (remainingChars < 0) break;
    beginnings[name] = text;
  }
  return beginnings;
}

export function createAcceptedRow(visit: Visit, { action, itemId, status }: Job): NewDelivery {
  const { missing, challenge, mismatch: reason } = visit.plan ?? {};
  const emptyOutcome = challenge ? "challenge" : "skipped";
  const outcome = action === "none" ? emptyOutcome : "accepted";
  const parsed = isBinary(visit.headers["content-type"], visit.raw ?? Buffer.alloc(0)) || undefined;
  const payload = parsed
    ? exactJson.stringify(visit.plan?.request.body)
    : (visit.raw?.toString("utf8") ?? "");
  return createRow(visit, { outcome, itemId, status, action, missing, reason, payload, parsed });
}

export function createDuplicateRow(visit: Visit, itemId: string | undefined): NewDelivery {
  return createRow(visit, { outcome: "duplicate", itemId });
}

export function createRefusedRow(visit: Visit, problem: unknown): NewDelivery {
  const { status, code, message } = isPorticoError(problem)
    ? problem
    : { status: 500, code: "internal_error", message: "" };
  const payload =
    visit.credential && visit.raw
      ? visit.raw.toString("utf8", 0, REFUSED_PAYLOAD_CHARS)
      : undefined;
  return createRow(visit, {
    outcome: selectOutcome(status),
    payload,
    status,
    error: { code, message },
  });
}

function selectOutcome(status: number): string {
  if (status === 429) return "limited";
  if (status === 401 || status === 403) return "unauthorized";
  return status >= 500 ? "failed" : "refused";
}
