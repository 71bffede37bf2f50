/** The routes of an upstream of OpenAI's format that requests are forwarded to. */
import type { ApiRoute, RouteForm, Target } from "./types/provider.ts";

/** All routes other than chat and embeddings. */
export const API_ROUTES: readonly ApiRoute[] = [
  "completions",
  "images/generations",
  "images/edits",
  "audio/speech",
  "audio/transcriptions",
  "audio/translations",
  "moderations",
  "rerank",
];

/** Returns `routes` as forwarded routes. `address` returns the URL and headers of each. */
export function forwardRoutes(
  routes: readonly ApiRoute[],
  address: (route: ApiRoute, target: Target) => { url: string; headers: Record<string, string> },
): Partial<Record<ApiRoute, RouteForm>> {
  return Object.fromEntries(
    routes.map((route): [ApiRoute, RouteForm] => [
      route,
      { forward: (target) => address(route, target) },
    ]),
  );
}
