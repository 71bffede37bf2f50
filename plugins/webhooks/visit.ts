/** One request while it is looked at, and its row in the delivery log. */
import { type Call, isPorticoError, type NewDelivery, type Take } from "portico";
import type { Job } from "./jobs.ts";
import { maskFields, maskText } from "./mask.ts";
import type { Plan, Target } from "./plan.ts";
import type { Credential, Settings } from "./settings.ts";

/** Of a refused request's body; an accepted one is kept whole, to be replayed. */
const REFUSED_PAYLOAD_CHARS = 64 * 1024;

export interface Visit {
  call: Call;
  /** The delivery's. */
  id: string;
  target: Target;
  settings: Settings;
  headers: Record<string, string>;
  query: Record<string, string>;
  raw?: Buffer;
  credential?: Credential;
  /** What the answer says about limits. */
  limit?: Take;
  plan?: Plan;
}

export function rowOf({ id, call, target, settings, headers, query, credential, raw, plan }: Visit) {
  return {
    id,
    source: plan?.source ?? target.source,
    meta: {
      method: call.method,
      path: call.path.slice(0, 500),
      target: target.path,
      query: maskFields(query, settings.secrets),
      headers: maskFields(headers, settings.secrets),
      address: call.address,
      requestId: call.id,
      bytes: raw?.length ?? 0,
      ...(credential ? { credential: credential.name } : {}),
    },
  };
}

export function acceptedRow(visit: Visit, job: Job): NewDelivery {
  const row = rowOf(visit);
  const { missing, challenge } = visit.plan ?? {};
  return {
    ...row,
    outcome: job.action !== "none" ? "accepted" : challenge ? "challenge" : "skipped",
    ...(job.itemId === undefined ? {} : { itemId: job.itemId }),
    meta: { ...row.meta, status: job.status, action: job.action, ...(missing?.length ? { missing } : {}) },
    payload: maskText(visit.raw?.toString("utf8") ?? "", visit.settings.secrets),
  };
}

export function refusedRow(visit: Visit, error: unknown): NewDelivery {
  const row = rowOf(visit);
  const { status, code, message } = isPorticoError(error)
    ? error
    : { status: 500, code: "internal_error", message: "" };
  // whoever is nobody gets no room on our disk
  const payload = visit.credential && visit.raw ? visit.raw.toString("utf8", 0, REFUSED_PAYLOAD_CHARS) : undefined;
  return {
    ...row,
    outcome: outcomeOf(status),
    meta: { ...row.meta, status, error: { code, message } },
    ...(payload === undefined ? {} : { payload: maskText(payload, visit.settings.secrets) }),
  };
}

function outcomeOf(status: number): string {
  if (status === 429) return "limited";
  if (status === 401 || status === 403) return "unauthorized";
  return status >= 500 ? "failed" : "refused";
}
