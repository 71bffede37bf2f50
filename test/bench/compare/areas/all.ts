import type { ChatArea, GatewayArea } from "../area.ts";
import { agentAreas } from "./agent.ts";
import { browserArea } from "./browser.ts";
import { chatAreas } from "./chat.ts";
import { cronArea } from "./cron.ts";
import { hookAreas } from "./hooks.ts";
import { httpArea } from "./http.ts";
import { startArea } from "./start.ts";
import { webhookAreas } from "./webhooks.ts";

export const areas: { chat: readonly ChatArea[]; gateway: readonly GatewayArea[] } = {
  chat: chatAreas,
  gateway: [
    httpArea,
    ...webhookAreas,
    ...agentAreas,
    ...hookAreas,
    cronArea,
    browserArea,
    startArea,
  ],
};
