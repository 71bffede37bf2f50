/** One request during its intake, and its row in the delivery log. */
import { type Call, exactJson, isPorticoError } from "portico";
import { newId } from "portico/agent";
import type { NewDelivery } from "portico/store";
import type { StartedWork } from "../started-work.ts";
import { isBinary } from "../bodies/read.ts";
import { maskFields, maskText, withoutSecrets } from "../mask.ts";
import type { Request } from "../mappings/paths.ts";
import type { Mismatch } from "../mappings/match.ts";
import type { Plan, Reading, Target } from "../plan.ts";
import type { LimitState } from "./limit.ts";
import type { Credential, Settings } from "../settings.ts";

/** The log keeps this much of the body of a refused request, but the whole body of an accepted one for replays. */
const REFUSED_PAYLOAD_BYTES = 64 * 1024;

export interface IncomingRequest {
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
export function toRequest(incoming: IncomingRequest, { body, variants }: Reading): Request {
  const { target, settings, headers, query } = incoming;
  if (target.kind === "wake" || target.kind === "agent") return new UnmappedRequest(body, incoming);
  return {
    body,
    variants,
    headers: withoutSecrets(headers, settings.secrets),
    query: withoutSecrets(query, settings.secrets),
  };
}

/** A request that no mapping handles. It computes headers and query only on demand, since they are rarely used. */
class UnmappedRequest implements Request {
  readonly #incoming: IncomingRequest;

  constructor(
    readonly body: unknown,
    incoming: IncomingRequest,
  ) {
    this.#incoming = incoming;
  }

  get headers(): Record<string, string> {
    return withoutSecrets(this.#incoming.headers, this.#incoming.settings.secrets);
  }

  get query(): Record<string, string> {
    return withoutSecrets(this.#incoming.query, this.#incoming.settings.secrets);
  }
}

interface Outcome {
  outcome: string;
  itemId?: string | undefined;
  payload?: string | undefined;
  /** True if the payload is the value of the body as JSON, since its bytes are not text. */
  parsed?: boolean | undefined;
  /** True if the payload is not the whole body, so that it cannot be replayed. */
  incomplete?: boolean | undefined;
  status?: number;
  action?: StartedWork["action"];
  /** The placeholders without a value. */
  missing?: readonly string[] | undefined;
  /** The reason why nothing was started. */
  reason?: Mismatch | undefined;
  error?: { code: string; message: string };
}

function createRow(
  incoming: IncomingRequest,
  { outcome, itemId, payload, parsed, incomplete, status, action, missing, reason, error }: Outcome,
): NewDelivery {
  const { call, target, settings, headers, query, credential, raw, plan } = incoming;
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
      incomplete,
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

export function createAcceptedRow(
  incoming: IncomingRequest,
  { action, itemId, status }: StartedWork,
): NewDelivery {
  const { missing, challenge, mismatch: reason } = incoming.plan ?? {};
  const emptyOutcome = challenge ? "challenge" : "skipped";
  const outcome = action === "none" ? emptyOutcome : "accepted";
  const parsed =
    isBinary(incoming.headers["content-type"], incoming.raw ?? Buffer.alloc(0)) || undefined;
  const payload = parsed
    ? exactJson.stringify(incoming.plan?.request.body)
    : (incoming.raw?.toString("utf8") ?? "");
  return createRow(incoming, { outcome, itemId, status, action, missing, reason, payload, parsed });
}

export function createDuplicateRow(
  incoming: IncomingRequest,
  itemId: string | undefined,
): NewDelivery {
  return createRow(incoming, { outcome: "duplicate", itemId });
}

export function createRefusedRow(incoming: IncomingRequest, problem: unknown): NewDelivery {
  const { status, code, message } = isPorticoError(problem)
    ? problem
    : { status: 500, code: "internal_error", message: "" };
  const body = incoming.credential && incoming.raw;
  const isWhole =
    body === undefined ||
    (body.length <= REFUSED_PAYLOAD_BYTES && !isBinary(incoming.headers["content-type"], body));
  return createRow(incoming, {
    outcome: selectOutcome(status),
    payload: body?.toString("utf8", 0, REFUSED_PAYLOAD_BYTES),
    incomplete: isWhole ? undefined : true,
    status,
    error: { code, message },
  });
}

function selectOutcome(status: number): string {
  if (status === 429) return "limited";
  if (status === 401 || status === 403) return "unauthorized";
  return status >= 500 ? "failed" : "refused";
}
