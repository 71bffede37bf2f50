/** One entry of the audit trail: who set out to change what, and what became of it. */
import type { ChangeAttempt, ChangeOrigin } from "portico";
import { compare, type Difference, shownDifferences, shownValue, summary } from "./values.ts";

export type Outcome = "made" | "refused" | "failed";

/** What is not known is absent. */
export interface AuditEntry {
  id: string;
  /** ISO time. */
  at: string;
  outcome: Outcome;
  /** `owner`, `key:<name>`, or `outside` where no credential says who it was. */
  principal: string;
  via: ChangeOrigin["via"];
  address?: string | undefined;
  /** The route, as `DELETE /keys/:name`; `configuration file` where the file itself was changed. */
  action: string;
  /** What the path, or the response, names: `ci`. */
  entry?: string | undefined;
  status?: number | undefined;
  error?: { code: string; message: string } | undefined;
  changes: Difference[];
  /** What was asked for, where `changes` does not say it already. */
  request?: unknown;
  /** As in `x-request-id`. */
  requestId?: string | undefined;
  /** How many such attempts this entry represents, if there were several within a minute. */
  count?: number | undefined;
}

export type NewEntry = Omit<AuditEntry, "id" | "at">;

export const FILE_ACTION = "configuration file";
const LONGEST_NAME = 200;

/** What an attempt comes to, without secrets. `mask` hides the secrets that the gateway knows. */
export function entryOf(attempt: ChangeAttempt, mask: <T>(value: T) => T): NewEntry {
  const { origin, error, status, requestId } = attempt;
  const changes = error === undefined ? changesOf(attempt) : [];
  return mask({
    outcome: outcomeOf(status),
    ...origin,
    action: `${attempt.method} ${attempt.route}`,
    entry: nameOf(attempt),
    status,
    error: error && { code: error.code, message: error.message },
    changes: shownDifferences(changes),
    // A refused body may contain a secret that the configuration does not know.
    request: error === undefined && changes.length === 0 ? requestOf(attempt) : undefined,
    requestId,
  });
}

function outcomeOf(status: number): Outcome {
  if (status < 400) return "made";
  return status < 500 ? "refused" : "failed";
}

function changesOf({ configuration, before, after, method }: ChangeAttempt): Difference[] {
  if (configuration.length > 0) return configuration.map(({ kind: _, ...change }) => change);
  if (before === undefined) return [];
  return method === "DELETE" ? compare(summary(before), {}) : compare(before, after ?? before);
}

function nameOf({ params, result }: ChangeAttempt): string | undefined {
  const named = Object.values(params).join("/");
  const { id, name } = (result ?? {}) as Record<string, unknown>;
  const text = [named, id, name].find((each) => typeof each === "string" && each !== "");
  return typeof text === "string" ? text.slice(0, LONGEST_NAME) : undefined;
}

function requestOf({ body }: ChangeAttempt): unknown {
  const isEmpty = typeof body !== "object" || body === null || Object.keys(body).length === 0;
  return isEmpty ? undefined : shownValue(body);
}
