/**
 * `extra_content` of a response (signatures that a provider wants to see again) for formats that have no such field: sealed
 * into one opaque text, which clients send back as it is.
 */

/** `extra_content` of a message and of its calls. */
export interface Extras {
  /** Of the message. */
  message?: unknown;
  /** Of its tool calls, by id. */
  calls?: Record<string, unknown> | undefined;
}

interface CallLike {
  id?: string;
  extra_content?: unknown;
}

const MARK = "portico.";

/** What a response brings of it, sealed; undefined where there is nothing. */
export function sealExtras(message: unknown, calls: readonly CallLike[]): string | undefined {
  const ofCalls: Record<string, unknown> = {};
  for (const { id, extra_content: extra } of calls)
    if (extra != null && id !== undefined) ofCalls[id] = extra;
  const any = Object.keys(ofCalls).length > 0;
  if (message == null && !any) return undefined;
  const extras: Extras = { message: message ?? undefined, calls: any ? ofCalls : undefined };
  return MARK + Buffer.from(JSON.stringify(extras)).toString("base64url");
}

/** Undefined for a text from another source. The text is untrusted: its sender may have forged it. */
export function openExtras(sealed: unknown): Extras | undefined {
  if (typeof sealed !== "string" || !sealed.startsWith(MARK)) return undefined;
  try {
    const value: unknown = JSON.parse(
      Buffer.from(sealed.slice(MARK.length), "base64url").toString("utf8"),
    );
    if (!isRecord(value)) return undefined;
    return {
      message: value["message"] ?? undefined,
      calls: isRecord(value["calls"]) ? value["calls"] : undefined,
    };
  } catch {
    return undefined;
  }
}

/** The calls with their `extra_content`, where one of these has it: the first that does. */
export function withExtras<C extends { id?: string }>(
  calls: readonly C[],
  all: readonly Extras[],
): C[] {
  const known = new Map<string, unknown>();
  for (const extras of all) {
    for (const [id, extra] of Object.entries(extras.calls ?? {}))
      if (!known.has(id)) known.set(id, extra);
  }
  return calls.map((call) =>
    call.id !== undefined && known.has(call.id)
      ? { ...call, extra_content: known.get(call.id) }
      : call,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
