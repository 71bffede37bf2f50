/** Whether the gateway is there, and whether it is ready: what a supervisor asks without a token. */
import { reply } from "../http/response/reply.ts";
import type { Mount } from "../types.ts";
import type { Management } from "./services.ts";

type Told = Pick<Management, "version" | "startedAt" | "notReady">;

export function mountHealth(mount: Mount, { version, startedAt, notReady }: Told): void {
  const uptimeMs = () => Date.now() - startedAt;
  mount.route("GET", "/health", { access: "public" }, () => ({
    status: "ok",
    version,
    uptimeMs: uptimeMs(),
  }));
  mount.route("GET", "/ready", { access: "public" }, () => {
    const waiting = notReady();
    // Anyone may ask: names yes, reasons (which may quote files) no.
    const body = {
      status: waiting.length ? "not ready" : "ready",
      plugins: waiting.map(({ name }) => name),
    };
    return reply(waiting.length ? 503 : 200, body);
  });
}
