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

/** Clients leave the model out where OpenAI has one for it. */
const DEFAULT_MODEL: Partial<Record<ApiRoute, string>> = {
  moderations: "omni-moderation-latest",
  "images/generations": "gpt-image-1",
  "images/edits": "gpt-image-1",
};

/** The member that a person or another program wrote. */
const TEXT: Partial<Record<ApiRoute, string>> = {
  completions: "prompt",
  "images/generations": "prompt",
  "images/edits": "prompt",
  "audio/speech": "input",
  moderations: "input",
  rerank: "query",
};

const MOST_MODELS = 20;

/** Writes the response by itself. */
export async function forwardJson(chat: ModelsService, call: Call, route: ApiRoute): Promise<void> {
  const body = bodyObject(await jsonBody(call), "`model`");
  const name = TEXT[route] ?? "";
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
    body: (own, text) => stringifyExact({ ...fields(text), model: own }),
    fields,
    reply:
      route === "completions" ? (text) => completionReply(call.id, model, text, stream) : undefined,
  });
}

/** A list of the request's own, as chat takes one. */
function fallbacksOf(models: unknown): string[] {
  const list = models == null ? [] : listAt(models, "models");
  if (list.length > MOST_MODELS)
    throw refused("models", `\`models\` names too many models: at most ${MOST_MODELS} are allowed`);
  return list.map((one, i) => stringAt(one, `models[${i}]`));
}

/** The model, or the one that OpenAI has for requests without. */
export function modelOf(route: ApiRoute, body: JsonObject): string {
  const fallback = DEFAULT_MODEL[route];
  return modelAt(body.model == null && fallback !== undefined ? { model: fallback } : body);
}

/** Texts of a list are shown together; tokens and images are none. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return undefined;
  const texts = value.flatMap((one: unknown) => {
    const text = typeof one === "object" && one !== null ? (one as { text?: unknown }).text : one;
    return typeof text === "string" ? [text] : [];
  });
  return texts.length > 0 ? texts.join("\n") : undefined;
}
