/** Turns a thrown value into a response in the format of the API on which it occurred. */
import type { IncomingHttpHeaders } from "node:http";
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
    param: Type.Optional(Type.String({ description: "The path of the invalid field" })),
  }),
});

/** An error as it is sent: the body, which is JSON, and the headers of its form. */
export interface RenderedError {
  body: string;
  headers: Record<string, string>;
}

interface Entry extends ErrorFormOptions {
  prefix: string;
  form: ErrorForm;
}

/** The part of a failed request that was read. */
export interface FailedRequest {
  path: string;
  req: { headers: IncomingHttpHeaders };
}

/** Stands for a request that could not be read. */
export const UNREAD_REQUEST: FailedRequest = { path: "", req: { headers: {} } };

/**
 * Error forms by path prefix: the longest prefix wins, and of equal ones the last that was added. A form with `when`
 * applies only to some requests, and leaves the others to the next form.
 */
export function createErrorForms(log: Logger) {
  let forms: Entry[] = [];
  const formsBelow = (path: string): Entry[] =>
    forms.filter(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
  const formFor = ({ path, req }: FailedRequest): Entry | undefined =>
    formsBelow(path).find(({ when }) => when === undefined || when(req.headers));

  return {
    add(prefix: string, form: ErrorForm, options: ErrorFormOptions = {}): Dispose {
      const entry = { ...options, prefix: prefix.replace(/\/+$/, ""), form };
      forms = [entry, ...forms].sort((a, b) => b.prefix.length - a.prefix.length);
      return () => {
        forms = forms.filter((other) => other !== entry);
      };
    },

    /** The prefixes that belong to the base URLs of clients. */
    bases: () => forms.filter(({ isBase }) => isBase).map(({ prefix }) => prefix),

    /** The schema of errors on this path; a form without a schema allows any value. */
    schemaOf(path: string): TSchema {
      const candidates = formsBelow(path);
      const lastIndex = candidates.findIndex(({ when }) => when === undefined);
      const possible = lastIndex === -1 ? candidates : candidates.slice(0, lastIndex + 1);
      const schemas = possible.map(({ schema }) => schema ?? Type.Unknown());
      if (lastIndex === -1) schemas.push(plainSchema);
      return schemas.length === 1 ? (schemas[0] as TSchema) : Type.Union(schemas);
    },

    /** Renders an error of this request in the form that its path and its headers ask for. */
    render(request: FailedRequest, error: PorticoError, requestId: string): RenderedError {
      const { code, message, status, type, param, details } = error;
      const publicFields = { code, message, status, type, param, details, requestId };
      const entry = formFor(request);
      if (entry) {
        try {
          const body = JSON.stringify(entry.form(publicFields));
          return { body, headers: entry.headers?.(requestId) ?? {} };
        } catch (failure) {
          log.error(
            { err: failure, prefix: entry.prefix },
            "the conversion of an error into the format of its route failed",
          );
        }
      }
      return { body: JSON.stringify(plainForm(publicFields)), headers: {} };
    },
  };
}

/** Returns the error that the caller may see: a `PorticoError` unchanged, anything else as `internal_error`. */
export function publicError(failure: unknown, requestId: string): PorticoError {
  if (isPorticoError(failure)) return failure;
  return errors.internal({ id: requestId }, { cause: failure });
}

/**
 * Logs what an operator has to know: the gateway's own bugs with their stack, other 5xx with their cause; refusals are
 * not logged.
 */
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
