/** Routes that an upstream of OpenAI's format has. */
import type { ApiRoute, RouteForm, Target } from "./types/provider.ts";

/** All of them. */
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

/** These routes go on as they are, to an address each. */
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
