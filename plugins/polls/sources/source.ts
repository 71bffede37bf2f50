import type { PorticoError } from "portico";
import type { BrowserService } from "portico/browser";
import type { Guard } from "portico/egress";
import { errors } from "../errors.ts";
import type { Item } from "../identity.ts";
import type { Source } from "../schema.ts";

/** What a document begins as, where that says how it must end. */
export type Form = "json" | "xml" | "html";

export interface Ending {
  form: Form;
  isWhole: boolean;
  /** It is said to be of this form, so that one that does not end so is cut off whatever it was before. */
  isSaid: boolean;
}

/** What a source holds now: a list of items, or one text. */
export type SourceContent =
  | { kind: "items"; items: Item[] }
  | { kind: "text"; text: string; hash: string; ending?: Ending }
  /** The server said that nothing changed. */
  | { kind: "unchanged" };

/** What makes the next request conditional. */
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
  /** In ms: a file must have rested this long before it is read. */
  settleMs: number;
  /** Throws 503 where there is none. */
  browser(): BrowserService;
  signal: AbortSignal;
}
export interface ReadResult {
  content: SourceContent;
  validators?: Validators;
  status?: number;
  bytes: number;
}

/** A check that failed: never a change. */
export class CheckFailed extends Error {
  override name = "CheckFailed";
  readonly status: number | undefined;
  /** The server asked to wait this long. */
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

/** Some times what a large list has. To compare more would keep the gateway from everything else, and all are remembered. */
const MOST_ITEMS = 100_000;

/** The items of a source, before anything is made of them. Throws `CheckFailed` for too many. */
export function countable<T>(items: readonly T[]): readonly T[] {
  if (items.length <= MOST_ITEMS) return items;
  throw new CheckFailed(
    `The source lists ${items.length} items, more than ${MOST_ITEMS}. Request only the newest ones.`,
  );
}

export const fieldMissing = (field: string, kind: string): PorticoError =>
  errors.fieldMissing({ kind, field }, { param: `source.${field}` });
