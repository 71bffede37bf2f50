/** The routes for supervisors, without a token: whether the gateway responds, and whether it is ready. */
import { Type } from "@sinclair/typebox";
import { reply } from "../http/response/reply.ts";
import type { Mount, RouteOptions } from "../contract/index.ts";
import type { Management } from "./services.ts";

type State = Pick<Management, "version" | "startedAt" | "notReady">;

const health = {
  access: "public",
  summary: "Check whether the gateway responds",
  response: {
    200: {
      description: "The gateway responds.",
      content: {
        "application/json": Type.Object({
          status: Type.Literal("ok"),
          version: Type.String(),
          uptimeMs: Type.Number(),
        }),
      },
    },
  },
} as const satisfies RouteOptions;

const readiness = {
  "application/json": Type.Object({
    status: Type.String({ description: "The state: `ready` or `not ready`" }),
    plugins: Type.Array(Type.String(), { description: "The plugins that are not ready" }),
  }),
};

const ready = {
  access: "public",
  summary: "Check whether every plugin is ready",
  response: {
    200: { description: "Every plugin is ready.", content: readiness },
    503: { description: "Some plugins are not ready.", content: readiness },
  },
} as const satisfies RouteOptions;

export function mountHealth(mount: Mount, { version, startedAt, notReady }: State): void {
  const uptimeMs = () => Date.now() - startedAt;
  mount.route("GET", "/health", health, () => ({
    status: "ok",
    version,
    uptimeMs: uptimeMs(),
  }));
  mount.route("GET", "/ready", ready, () => {
    const unready = notReady();
    // The route is public, so it names the plugins, but not the reasons, which may quote files.
    const body = {
      status: unready.length ? "not ready" : "ready",
      plugins: unready.map(({ name }) => name),
    };
    return reply(unready.length ? 503 : 200, body);
  });
}
