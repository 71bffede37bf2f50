/** `portico/openapi`: common parts of route declarations. */
import { type ResponseDeclarations, type TSchema, Type } from "portico";

interface ResponseOptions {
  /** The default is 200. */
  status?: number;
  description?: string;
}

/** Declares a response of one content type: `contentResponse("text/html", Type.String())`. */
export function contentResponse(
  type: string,
  schema: TSchema,
  { status = 200, description = "The response." }: ResponseOptions = {},
): ResponseDeclarations {
  return { [status]: { description, content: { [type]: schema } } };
}

/** Declares a JSON response: `response: jsonResponse(Type.Object({ ok: Type.Boolean() }))`. */
export function jsonResponse(schema: TSchema, options?: ResponseOptions): ResponseDeclarations {
  return contentResponse("application/json", schema, options);
}

/** Declares a response of server-sent events that do not end by themselves. */
export function eventsResponse(description: string): ResponseDeclarations {
  return contentResponse("text/event-stream", Type.Unknown(), { description });
}

/** Declares a response in JSON, or as server-sent events if the client requests a stream. */
export function streamableResponse(schema: TSchema): ResponseDeclarations {
  const content = { "application/json": schema, "text/event-stream": Type.Unknown() };
  return { 200: { description: "The response, as JSON or as a stream of events.", content } };
}

/** The query parameter for the largest number of results. */
export function limitField(defaultLimit: number) {
  return Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: `The largest number of results (default: ${defaultLimit})`,
    }),
  );
}

/** A string that must be one of `values`. */
export function choice<const T extends readonly string[]>(values: T, description?: string) {
  return Type.Union(
    values.map((value) => Type.Literal(value as T[number])),
    description === undefined ? {} : { description },
  );
}

/** A time in ISO 8601. */
export const Time = Type.String({ format: "date-time" });

/** An object whose members are not described. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown());

/** The content of a file in a format other than JSON. */
export const Binary = Type.Unsafe<string>({ type: "string", format: "binary" });

/** Declares a response with a file that clients may cache and revalidate. */
export function fileResponse(type = "*/*"): ResponseDeclarations {
  return {
    ...contentResponse(type, Binary, { description: "The file." }),
    304: { description: "The client's copy is current (If-None-Match)." },
  };
}
