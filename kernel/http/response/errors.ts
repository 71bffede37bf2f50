/** Turns whatever was thrown into a response in the form of the surface it happened on. */
import { type TSchema, Type } from "@sinclair/typebox";
import { isPorticoError, type PorticoError } from "../../errors.ts";
import { errors } from "../errors.ts";
import type { Dispose, ErrorForm, ErrorFormOptions, Logger } from "../../contract/index.ts";

export type ErrorForms = ReturnType<typeof createErrorForms>;

const plainForm: ErrorForm = ({ code, message, param, details }) => ({
  error: { code, message, param, ...details },
});

const plainSchema = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    param: Type.Optional(Type.String({ description: "The place of what was wrong" })),
  }),
});

interface Entry extends ErrorFormOptions {
  prefix: string;
  form: ErrorForm;
}

/** Error forms by path prefix: the longest prefix wins, and of equal ones the last that was added. */
export function createErrorForms(log: Logger) {
  let forms: Entry[] = [];
  const formFor = (path: string): Entry | undefined =>
    forms.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));

  return {
    add(prefix: string, form: ErrorForm, options: ErrorFormOptions = {}): Dispose {
      const entry = { ...options, prefix: prefix.replace(/\/+$/, ""), form };
      forms = [entry, ...forms].sort((a, b) => b.prefix.length - a.prefix.length);
      return () => {
        forms = forms.filter((other) => other !== entry);
      };
    },

    /** The prefixes that clients have in their base address. */
    bases: () => forms.filter(({ isBase }) => isBase).map(({ prefix }) => prefix),

    /** What errors on this path look like; a form that says nothing of it may be anything. */
    schemaOf(path: string): TSchema {
      const entry = formFor(path);
      return entry === undefined ? plainSchema : (entry.schema ?? Type.Unknown());
    },

    /** The body of the response to an error on this path. */
    render(path: string, error: PorticoError, requestId?: string): string {
      const { code, message, status, type, param, details } = error;
      const shown = { code, message, status, type, param, details, requestId };
      const entry = formFor(path);
      if (entry) {
        try {
          return JSON.stringify(entry.form(shown));
        } catch (failure) {
          log.error({ err: failure, prefix: entry.prefix }, "an error form failed");
        }
      }
      return JSON.stringify(plainForm(shown));
    },
  };
}

/** What the caller may see of a failure: a `PorticoError` as it is, anything else as `internal_error`. */
export function publicError(failure: unknown, requestId: string): PorticoError {
  if (isPorticoError(failure)) return failure;
  return errors.internal({ id: requestId }, { cause: failure });
}

/** Logs what an operator has to know: our own bugs with their stack, other 5xx with their cause; refusals not at all. */
export function logFailure(log: Logger, failure: unknown, id: string, path: string): void {
  if (!isPorticoError(failure) || failure.code === "internal_error") {
    log.error(
      { id, path, err: failure instanceof Error ? failure : new Error(String(failure)) },
      "a request failed",
    );
  } else if (failure.status >= 500) {
    log.warn({ id, path, code: failure.code, err: failure.cause }, failure.message);
  }
}
