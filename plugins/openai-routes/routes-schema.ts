/**
 * Requests and responses of OpenAI's routes other than chat. Members that they do not name pass unchanged in both
 * directions.
 */
import { type RouteOptions, Type } from "portico";
import type { ApiRoute } from "portico/provider";
import { AnyObject, contentResponse, jsonResponse, streamableResponse } from "portico/openapi";

const model = Type.String({ description: "An alias, a model, or channel/model" });
const texts = Type.Union([Type.String(), Type.Array(Type.Unknown())]);
const List = jsonResponse(Type.Object({ data: Type.Array(AnyObject) }));

const rerank = {
  summary: "Rank documents by relevance to a query",
  body: Type.Object({
    model,
    query: Type.String(),
    documents: Type.Array(Type.Unknown()),
    top_n: Type.Optional(Type.Integer({ minimum: 1 })),
  }),
  response: jsonResponse(Type.Object({ results: Type.Array(AnyObject) })),
};

/** Declares a route whose body is a model, the named files, and further fields. */
function upload(summary: string, fields: string[], response: RouteOptions["response"]) {
  const file = Type.Unsafe<string>({ type: "string", format: "binary" });
  const files = Object.fromEntries(fields.map((name) => [name, file]));
  return {
    summary,
    body: Type.Object({ model, ...files }),
    bodyTypes: ["multipart/form-data"],
    response,
  };
}

/** The transcript as text, JSON or subtitles, as the client requests. */
const transcript = {
  200: {
    description: "The transcript of the recording.",
    content: { "application/json": AnyObject, "text/plain": Type.String() },
  },
};

type Declaration = Omit<RouteOptions, "access" | "checkedBy">;

export const JSON_ROUTES: readonly [ApiRoute, Declaration][] = [
  [
    "completions",
    {
      summary: "Complete a text; the response is streamed if the request says so",
      body: Type.Object({
        model,
        prompt: Type.Optional(texts),
        stream: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
      }),
      response: streamableResponse(Type.Object({ choices: Type.Array(AnyObject) })),
    },
  ],
  [
    "images/generations",
    {
      summary: "Create images from a prompt",
      body: Type.Object({ model, prompt: Type.String() }),
      response: List,
    },
  ],
  [
    "audio/speech",
    {
      summary: "Convert text to speech",
      body: Type.Object({ model, input: Type.String(), voice: Type.Optional(Type.Unknown()) }),
      response: contentResponse("audio/*", Type.Unsafe({ type: "string", format: "binary" })),
    },
  ],
  [
    "moderations",
    {
      summary: "Classify whether a text is harmful",
      body: Type.Object({ model: Type.Optional(model), input: texts }),
      response: jsonResponse(Type.Object({ results: Type.Array(AnyObject) })),
    },
  ],
  ["rerank", rerank],
];

export const rerankV2 = {
  ...rerank,
  summary: "Rank documents by relevance to a query (the same as /v1/rerank)",
};

export const UPLOAD_ROUTES: readonly [ApiRoute, Declaration][] = [
  ["images/edits", upload("Edit an image", ["image"], List)],
  ["audio/transcriptions", upload("Transcribe a recording", ["file"], transcript)],
  ["audio/translations", upload("Translate a recording into English text", ["file"], transcript)],
];
