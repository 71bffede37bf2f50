/**
 * Seals `extra_content` of a response (signatures that a provider requires in later requests) into one opaque text, for
 * formats that have no such field. Clients send the text back unchanged.
 */

/** `extra_content` of a message and of its calls. */
export interface Extras {
  /** `extra_content` of the message. */
  message?: unknown;
  /** `extra_content` of its tool calls, by id. */
  calls?: Record<string, unknown> | undefined;
}

interface CallLike {
  id?: string;
  extra_content?: unknown;
}

/** The beginning of every sealed text. */
const SEAL_PREFIX = "portico.";

/** Seals the `extra_content` of a response. Returns undefined if there is none. */
export function sealExtras(message: unknown, calls: readonly CallLike[]): string | undefined {
  const callExtras: Record<string, unknown> = {};
  for (const { id, extra_content: extra } of calls)
    if (extra != null && id !== undefined) callExtras[id] = extra;
  const hasCallExtras = Object.keys(callExtras).length > 0;
  if (message == null && !hasCallExtras) return undefined;
  const extras: Extras = {
    message: message ?? undefined,
    calls: hasCallExtras ? callExtras : undefined,
  };
  return SEAL_PREFIX + Buffer.from(JSON.stringify(extras)).toString("base64url");
}

/** Opens a sealed text; undefined for a text from another source. The content is untrusted: a client may have forged it. */
export function openExtras(sealed: unknown): Extras | undefined {
  if (typeof sealed !== "string" || !sealed.startsWith(SEAL_PREFIX)) return undefined;
  try {
    const value: unknown = JSON.parse(
      Buffer.from(sealed.slice(SEAL_PREFIX.length), "base64url").toString("utf8"),
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

/** Returns the calls with their `extra_content`, taken from the first element of `all` that has it. */
export function withExtras<C extends { id?: string }>(
  calls: readonly C[],
  all: readonly Extras[],
): C[] {
  const extraById = new Map<string, unknown>();
  for (const extras of all) {
    for (const [id, extra] of Object.entries(extras.calls ?? {}))
      if (!extraById.has(id)) extraById.set(id, extra);
  }
  return calls.map((call) =>
    call.id !== undefined && extraById.has(call.id)
      ? { ...call, extra_content: extraById.get(call.id) }
      : call,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
