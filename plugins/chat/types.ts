/** What the chat plugin shares with providers, the agent and hooks. Types only: nobody imports this file at run time. */
import type {} from "./types/format.ts";
import type {} from "./types/provider.ts";
import type {} from "./types/watch.ts";
import type {} from "./types/service.ts";

declare module "portico" {
  interface Services {
    chat: ChatService;
    channels: ChannelsService;
  }
  interface Contributions {
    provider: ChatProvider;
    meter: ChatMeter;
    gate: ChatGate;
  }
  interface Events {
    "message:received": {
      /** Changeable: the text of the last user message. */
      content: string;
      /** `chat`, `webhook`, `cli`, `cron`, `poll`, … */
      source: string;
      model?: string;
      from?: string;
      metadata?: Record<string, unknown>;
    };
    "message:sent": { content: string; source: string; model?: string; to?: string };
    "chat:request": { request: ChatRequest; client?: string; stream: boolean };
    "chat:response": {
      requestId: string;
      model: string;
      channel: string;
      status: number;
      content?: string;
      finishReason?: string;
      usage?: Usage;
      ms: number;
      firstByteMs?: number;
      attempts: number;
      client?: string;
      error?: string;
    };
  }
}
