/** The kernel's own events; plugins declare theirs. */
import type { Bus } from "../bus.ts";

export function declareKernelEvents(bus: Bus): void {
  bus.declare("gateway:startup", {
    mode: "notify",
    description: "The gateway answers.",
    sample: { version: "0.1.0", port: 18789 },
  });
  bus.declare("gateway:shutdown", {
    mode: "notify",
    description: "The gateway stops accepting; running answers end first.",
    sample: { reason: "SIGTERM" },
  });
  bus.declare("config:changed", {
    mode: "notify",
    description: "A changed configuration is in force.",
    sample: { keys: ["log.level"] },
  });
  bus.declare("hook:failed", {
    mode: "notify",
    description: "A hook threw, rejected or overran its deadline.",
    sample: { hook: "hello", event: "message:received", error: "boom", failures: 1, resting: false },
  });
}
