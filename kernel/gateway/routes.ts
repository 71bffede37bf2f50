/** Whether the gateway responds, and whether it is ready: what a supervisor asks without a token. */
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
    const waiting = notReady();
    // Anyone may ask: names yes, reasons (which may quote files) no.
    const body = {
      status: waiting.length ? "not ready" : "ready",
      plugins: waiting.map(({ name }) => name),
    };
    return reply(waiting.length ? 503 : 200, body);
  });
}
