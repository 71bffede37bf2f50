/** Requests whose body is JSON. */
import type { Call } from "portico";
import {
  type ApiRoute,
  type JsonObject,
  modelAt,
  listAt,
  bodyObject,
  optionalBoolean,
  refused,
  stringAt,
  stringifyExact,
} from "portico/provider";
import { type ModelsService, jsonBody } from "portico/models";
import { completionReply } from "./completion-reply.ts";

/** OpenAI's default models, for clients that leave the model out. */
const DEFAULT_MODEL: Partial<Record<ApiRoute, string>> = {
  moderations: "omni-moderation-latest",
  "images/generations": "gpt-image-1",
  "images/edits": "gpt-image-1",
};

/** The member that holds the prompt, which hooks may read and change. */
const TEXT_MEMBER: Partial<Record<ApiRoute, string>> = {
  completions: "prompt",
  "images/generations": "prompt",
  "images/edits": "prompt",
  "audio/speech": "input",
  moderations: "input",
  rerank: "query",
};

const MAX_MODELS = 20;

/** Forwards the request, and writes the response. */
export async function forwardJson(chat: ModelsService, call: Call, route: ApiRoute): Promise<void> {
  const body = bodyObject(await jsonBody(call), "`model`");
  const name = TEXT_MEMBER[route] ?? "";
  const { models, ...rest } = body;
  const fallbacks = fallbacksOf(models);
  const model = modelOf(route, { ...body, model: body.model ?? fallbacks.shift() });
  const stream = optionalBoolean(body.stream, "stream") === true || body.stream_format === "sse";
  const fields = (text: string | undefined): JsonObject =>
    text === undefined ? rest : { ...rest, [name]: text };
  await chat.forward(call, {
    route,
    model,
    fallbacks,
    stream,
    text: textOf(body[name]),
    contentType: "application/json",
    body: (upstreamModel, text) => stringifyExact({ ...fields(text), model: upstreamModel }),
    fields,
    reply:
      route === "completions" ? (text) => completionReply(call.id, model, text, stream) : undefined,
  });
}

/** Returns the models of the request's member `models`, as for chat. */
function fallbacksOf(models: unknown): string[] {
  const list = models == null ? [] : listAt(models, "models");
  if (list.length > MAX_MODELS)
    throw refused("models", `\`models\` names too many models: at most ${MAX_MODELS} are allowed`);
  return list.map((model, i) => stringAt(model, `models[${i}]`));
}

/** Returns the model of the request, or OpenAI's default for the route. */
export function modelOf(route: ApiRoute, body: JsonObject): string {
  const fallback = DEFAULT_MODEL[route];
  return modelAt(body.model == null && fallback !== undefined ? { model: fallback } : body);
}

/** Joins the texts of a list; returns undefined if it holds only tokens or images. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return undefined;
  const texts = value.flatMap((item: unknown) => {
    const text =
      typeof item === "object" && item !== null ? (item as { text?: unknown }).text : item;
    return typeof text === "string" ? [text] : [];
  });
  return texts.length > 0 ? texts.join("\n") : undefined;
}
