/** `portico/openapi`: what the declarations of routes have in common. */
import { type ResponseDeclarations, type TSchema, Type } from "portico";

interface ResponseOptions {
  /** Default 200. */
  status?: number;
  description?: string;
}

/** A response of one content type: `contentResponse("text/html", Type.String())`. */
export function contentResponse(
  type: string,
  schema: TSchema,
  { status = 200, description = "The response." }: ResponseOptions = {},
): ResponseDeclarations {
  return { [status]: { description, content: { [type]: schema } } };
}

/** A route that answers with JSON: `response: jsonResponse(Type.Object({ ok: Type.Boolean() }))`. */
export function jsonResponse(schema: TSchema, options?: ResponseOptions): ResponseDeclarations {
  return contentResponse("application/json", schema, options);
}

/** Server-sent events that do not end by themselves. */
export function eventsResponse(description: string): ResponseDeclarations {
  return contentResponse("text/event-stream", Type.Unknown(), { description });
}

/** JSON, or the same as server-sent events where the caller asks for a stream. */
export function streamableResponse(schema: TSchema): ResponseDeclarations {
  const content = { "application/json": schema, "text/event-stream": Type.Unknown() };
  return { 200: { description: "The response, whole or streamed.", content } };
}

/** How many are listed at most, in a query. */
export function limitField(otherwise: number) {
  return Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: `The largest number of entries (default: ${otherwise})`,
    }),
  );
}

/** One of a few words. */
export function choice<const T extends readonly string[]>(values: T, description?: string) {
  return Type.Union(
    values.map((value) => Type.Literal(value as T[number])),
    description === undefined ? {} : { description },
  );
}

/** A time in ISO 8601. */
export const Time = Type.String({ format: "date-time" });

/** An object of which listings say nothing more. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown());

/** The content of a file, which is not JSON. */
export const Binary = Type.Unsafe<string>({ type: "string", format: "binary" });

/** A file that clients may keep and ask for again. */
export function fileResponse(type = "*/*"): ResponseDeclarations {
  return {
    ...contentResponse(type, Binary, { description: "The file." }),
    304: { description: "The client's copy is current (If-None-Match)." },
  };
}
