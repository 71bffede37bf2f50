/** The kernel's own events; plugins declare theirs. */
import type { PluginDefinition } from "../contract/index.ts";

export const kernelEvents: NonNullable<PluginDefinition["events"]> = {
  "gateway:startup": {
    mode: "notify",
    description: "The gateway accepts requests.",
    sample: { version: "0.1.0", port: 18789 },
  },
  "gateway:shutdown": {
    mode: "notify",
    description:
      "The gateway accepts no new requests; it finishes responses in progress before it stops.",
    sample: { reason: "SIGTERM" },
  },
  "config:changed": {
    mode: "notify",
    description: "A changed configuration has become active.",
    sample: { keys: ["log.level"] },
  },
  "hook:failed": {
    mode: "notify",
    description: "A hook threw an error, returned a rejected promise, or exceeded its deadline.",
    sample: {
      hook: "hello",
      event: "message:received",
      error: "boom",
      failures: 1,
      resting: false,
    },
  },
};
