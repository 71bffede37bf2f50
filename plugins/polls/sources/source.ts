import type { PorticoError } from "portico";
import type { BrowserService } from "portico/browser";
import type { Guard } from "portico/egress";
import { errors } from "../errors.ts";
import type { Item } from "../identity.ts";
import type { Source } from "../schema.ts";

/** The format of a document, if its beginning determines how it must end. */
export type Form = "json" | "xml" | "html";

export interface Ending {
  form: Form;
  isWhole: boolean;
  /**
   * True if the sender or the name declares this format. An incomplete document is then cut off regardless of its
   * previous version.
   */
  isDeclared: boolean;
}

/** The current content of a source: a list of items, or one text. */
export type SourceContent =
  | { kind: "items"; items: Item[] }
  | { kind: "text"; text: string; hash: string; ending?: Ending }
  /** The server reported that nothing changed. */
  | { kind: "unchanged" };

/** The validators that make the next request conditional. */
export interface Validators {
  url: string;
  etag?: string;
  lastModified?: string;
}

export interface ReadRequest {
  source: Source;
  guard: Guard;
  validators: Validators | undefined;
  timeoutMs: number;
  maxBytes: number;
  /** Directories that file sources may read. */
  roots: readonly string[];
  /** The time, in ms, for which a file must stay unchanged before it is read. */
  settleMs: number;
  /** Returns the browser. Throws 503 if there is none. */
  browser(): BrowserService;
  signal: AbortSignal;
}
export interface ReadResult {
  content: SourceContent;
  validators?: Validators;
  status?: number;
  bytes: number;
}

/** The error of a failed check, which never counts as a change. */
export class CheckFailed extends Error {
  override name = "CheckFailed";
  readonly status: number | undefined;
  /** The pause that the server requested. */
  readonly retryAfterMs: number | undefined;
  constructor(
    message: string,
    options: { status?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** More than any genuine list has. Comparing more items would block the gateway, and their keys are all stored. */
const MAX_ITEMS = 100_000;

/** Returns the items of a source unchanged. Throws `CheckFailed` if there are too many. */
export function checkItemCount<T>(items: readonly T[]): readonly T[] {
  if (items.length <= MAX_ITEMS) return items;
  throw new CheckFailed(
    `The source lists ${items.length} items, more than ${MAX_ITEMS}. Request only the newest items.`,
  );
}

export const createFieldMissingError = (field: string, kind: string): PorticoError =>
  errors.fieldMissing({ kind, field }, { param: `source.${field}` });
