/**
 * The events of the contract, for the command line when no gateway runs. A running gateway is asked instead: plugins
 * may declare more.
 */
import type { EventSpec } from "../types.ts";

export type EventOutline = Pick<EventSpec, "mode" | "description"> & { changes?: readonly string[]; sample?: unknown };

export const knownEvents: Readonly<Record<string, EventOutline>> = {
  "gateway:startup": { mode: "notify", description: "The gateway answers." },
  "gateway:shutdown": { mode: "notify", description: "The gateway stops accepting; running answers end first." },
  "message:received": { mode: "answer", changes: ["content"], description: "A message came in." },
  "message:sent": { mode: "notify", description: "An answer went out." },
  "command:new": { mode: "notify", description: "A session begins anew (/new)." },
  "command:reset": { mode: "notify", description: "A session was emptied (/reset)." },
  "command:stop": { mode: "notify", description: "A turn was stopped (/stop)." },
  "agent:bootstrap": {
    mode: "change",
    changes: ["bootstrapFiles", "systemPrompt"],
    description: "A turn's prompt is made.",
  },
  "agent:completed": { mode: "notify", description: "A turn has ended well." },
  "agent:failed": { mode: "notify", description: "A turn has failed." },
  "chat:request": { mode: "answer", changes: ["request"], description: "A chat request is about to go to a channel." },
  "chat:response": { mode: "notify", description: "A chat request was answered." },
  "webhook:received": { mode: "notify", description: "A webhook was accepted." },
  "cron:fired": { mode: "notify", description: "A cron job's time has come." },
  "poll:changed": { mode: "notify", description: "A poll found something new." },
  "browser:navigated": { mode: "notify", description: "A tab went to another page." },
  "config:changed": { mode: "notify", description: "A changed configuration is in force." },
  "hook:failed": { mode: "notify", description: "A hook threw, rejected or overran its deadline." },
};
