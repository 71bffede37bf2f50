/** OpenAI's routes beside chat, as far as Mistral has the like. */
import {
  bearerHeaders,
  errorInResponse,
  forwardRoutes,
  parseResponse,
  postJson,
  type RouteForm,
  type WireProvider,
  toldText,
} from "portico/chat";
import { readProblem } from "./problem.ts";

/** `POST /v1/completions` (with `suffix`, as editors ask) by the fill-in-the-middle route. */
const completions: RouteForm = {
  encode({ model, prompt, suffix, max_tokens, temperature, top_p, stop, seed, ...rest }, target) {
    const body = { model, prompt, suffix, max_tokens, temperature, top_p, stop, random_seed: seed };
    const dropped = Object.keys(rest).filter((name) => name !== "stream" && rest[name] != null);
    return postJson(`${target.baseUrl}/v1/fim/completions`, bearerHeaders(target), body, { dropped });
  },
  decode(body, _sent, target) {
    const response = parseResponse(body);
    const choices = response?.choices as { index?: number; message?: { content?: unknown }; finish_reason?: string }[];
    if (!Array.isArray(choices)) throw errorInResponse(readProblem(200, body));
    return {
      id: target.id.replace(/^chatcmpl-/, "cmpl-"),
      object: "text_completion",
      created: target.created,
      model: toldText(response?.model, target.model),
      choices: choices.map(({ index, message, finish_reason }, i) => ({
        text: typeof message?.content === "string" ? message.content : "",
        index: index ?? i,
        logprobs: null,
        finish_reason: finish_reason === "length" ? "length" : "stop",
      })),
      usage: response?.usage,
    };
  },
};

/** Mistral tells each category, and not whether any of them holds. */
const moderations: RouteForm = {
  encode: ({ model, input }, target) =>
    postJson(`${target.baseUrl}/v1/moderations`, bearerHeaders(target), { model, input }),
  decode(body) {
    const response = parseResponse(body);
    const results = response?.results as { categories?: Record<string, unknown> }[] | undefined;
    if (!Array.isArray(results)) throw errorInResponse(readProblem(200, body));
    const flagged = results.map((one) => ({ flagged: Object.values(one.categories ?? {}).includes(true), ...one }));
    return { ...response, results: flagged };
  },
};

export const routes: WireProvider["routes"] = {
  ...forwardRoutes(["audio/transcriptions"], (route, target) => ({
    url: `${target.baseUrl}/v1/${route}`,
    headers: bearerHeaders(target),
  })),
  completions,
  moderations,
};
