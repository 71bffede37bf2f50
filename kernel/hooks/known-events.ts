/**
 * The events of the package, for the command line when no gateway runs. A running gateway is asked instead: plugins
 * may declare more. A plugin declares its events only when it is set up, so they are written here a second time; a test
 * compares.
 */
import type { EventSpec } from "../types.ts";

export type EventOutline = Pick<EventSpec, "mode" | "description"> & { changes?: readonly string[]; sample?: unknown };

export const knownEvents: Readonly<Record<string, EventOutline>> = {
  "gateway:startup": { mode: "notify", description: "The gateway answers." },
  "gateway:shutdown": { mode: "notify", description: "The gateway stops accepting; running answers end first." },
  "message:received": {
    mode: "answer",
    changes: ["content"],
    description: "A message for a model came in: the last user message of a chat completion, a webhook's, a command's.",
  },
  "message:sent": { mode: "notify", description: "An answer went out." },
  "command:new": { mode: "change", description: "A session begins anew; the old messages come along." },
  "command:reset": { mode: "change", description: "A session begins anew; the old messages come along." },
  "command:stop": { mode: "change", description: "A session's turns were stopped." },
  "agent:bootstrap": {
    mode: "change",
    changes: ["bootstrapFiles", "systemPrompt"],
    description: "A turn begins: the workspace's files and the system prompt can still be changed.",
  },
  "agent:completed": { mode: "notify", description: "A turn has ended with an answer." },
  "agent:failed": {
    mode: "notify",
    description: "An attempt at a turn has failed; `willRetry` says whether another follows.",
  },
  "agent:tool": { mode: "notify", description: "A tool was called in a turn." },
  "agent:announced": { mode: "notify", description: "A result was posted to the main session." },
  "session:deleted": {
    mode: "notify",
    description: "A session was deleted with its transcript: what was kept for it can go.",
  },
  "chat:request": {
    mode: "change",
    changes: ["request"],
    description: "A chat completion is about to be routed; the whole request may be changed.",
  },
  "chat:response": { mode: "notify", description: "A chat completion has ended, well or not." },
  "webhook:received": { mode: "notify", description: "A webhook was accepted and is on stable storage." },
  "cron:fired": { mode: "notify", description: "A cron job was started, by its schedule or by hand." },
  "poll:changed": { mode: "notify", description: "A poll found something new." },
  "browser:navigated": { mode: "notify", description: "A tab under control shows another page." },
  "config:changed": { mode: "notify", description: "A changed configuration is in force." },
  "hook:failed": { mode: "notify", description: "A hook threw, rejected or overran its deadline." },
};
