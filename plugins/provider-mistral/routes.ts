/** The routes of OpenAI's API other than chat for which Mistral has an equivalent. */
import {
  bearerHeaders,
  errorInResponse,
  forwardRoutes,
  parseResponse,
  postJson,
  type RouteForm,
  type WireProvider,
} from "portico/provider";
import { completions } from "./completions.ts";
import { readProblem } from "./problem.ts";

/** Translates moderations. Mistral returns each category, but not whether any of them applies. */
const moderations: RouteForm = {
  encode: ({ model, input }, target) =>
    postJson(`${target.baseUrl}/v1/moderations`, bearerHeaders(target), { model, input }),
  decode(body) {
    const response = parseResponse(body);
    const results = response?.results as { categories?: Record<string, unknown> }[] | undefined;
    if (!Array.isArray(results)) throw errorInResponse(readProblem(200, body));
    const flagged = results.map((result) => ({
      flagged: Object.values(result.categories ?? {}).includes(true),
      ...result,
    }));
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
