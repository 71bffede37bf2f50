/** An entry of the audit trail: who attempted which change, and its outcome. */
import type { ChangeAttempt, ChangeOrigin } from "portico";
import { compare, type Difference, maskDifferences, maskedCopy, summarize } from "./values.ts";

export type Outcome = "made" | "refused" | "failed";

/** Unknown fields are absent. */
export interface AuditEntry {
  id: string;
  /** ISO time. */
  at: string;
  outcome: Outcome;
  /** `owner`, `key:<name>`, or `outside` for requests without a valid credential. */
  principal: string;
  via: ChangeOrigin["via"];
  address?: string | undefined;
  /** The route, such as `DELETE /keys/:name`, or `configuration file` if the file itself was changed. */
  action: string;
  /** The name of the changed entry, from the path or the response: `ci`. */
  entry?: string | undefined;
  status?: number | undefined;
  error?: { code: string; message: string } | undefined;
  changes: Difference[];
  /** The request's body, if `changes` is empty. */
  request?: unknown;
  /** The value of `x-request-id`. */
  requestId?: string | undefined;
  /** How many such attempts this entry represents, if there were several within a minute. */
  count?: number | undefined;
}

export type NewEntry = Omit<AuditEntry, "id" | "at">;

export const FILE_ACTION = "configuration file";
const MAX_NAME_LENGTH = 200;

/** Creates the entry of an attempt, without secrets. `mask` hides the secrets that the gateway knows. */
export function createEntry(attempt: ChangeAttempt, mask: <T>(value: T) => T): NewEntry {
  const { origin, error, status, requestId } = attempt;
  const changes = error === undefined ? changesOf(attempt) : [];
  return mask({
    outcome: outcomeOf(status),
    ...origin,
    action: `${attempt.method} ${attempt.route}`,
    entry: nameOf(attempt),
    status,
    error: error && { code: error.code, message: error.message },
    changes: maskDifferences(changes),
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
  return method === "DELETE" ? compare(summarize(before), {}) : compare(before, after ?? before);
}

function nameOf({ params, result }: ChangeAttempt): string | undefined {
  const pathName = Object.values(params).join("/");
  const { id, name } = (result ?? {}) as Record<string, unknown>;
  const text = [pathName, id, name].find(
    (candidate) => typeof candidate === "string" && candidate !== "",
  );
  return typeof text === "string" ? text.slice(0, MAX_NAME_LENGTH) : undefined;
}

function requestOf({ body }: ChangeAttempt): unknown {
  const isEmpty = typeof body !== "object" || body === null || Object.keys(body).length === 0;
  return isEmpty ? undefined : maskedCopy(body);
}
