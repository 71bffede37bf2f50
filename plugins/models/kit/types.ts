/** Types that the engine shares with providers, the agent and hooks. Nothing imports this file at run time. */
import type { ChatProvider, ChatRequest, Usage } from "portico/provider";
import type { ChannelsService, ModelsService } from "./types/service.ts";
import type { ChatGate, ChatMeter, ChatPricing } from "./types/watch.ts";
export type * from "./types/watch.ts";
export type * from "./types/story.ts";
export type * from "./types/service.ts";

declare module "portico" {
  interface Services {
    models: ModelsService;
    /** @deprecated The name of `models` that plugins of users know. */
    chat: ModelsService;
    channels: ChannelsService;
  }
  interface Contributions {
    provider: ChatProvider;
    meter: ChatMeter;
    gate: ChatGate;
    pricing: ChatPricing;
  }
  interface EventEffects {
    "message:received": { changes: "content"; may: "reply" | "block" };
    "chat:request": { changes: "request"; may: "reply" | "block" };
    "message:sending": { changes: "content"; may: "block" };
    "message:streaming": { changes: "text" };
  }
  interface Events {
    /** `until`: ISO time. */
    "channel:resting": { channel: string; model: string; until: string; error: string };
    "message:received": {
      /** Changeable: the text of the last user message. */
      content: string;
      /** `chat`, `webhook`, `cli`, `cron`, `poll`, … */
      source: string;
      model?: string;
      from?: string;
      metadata?: Record<string, unknown>;
    };
    "message:sending": { content: string; source: string; model?: string; to?: string };
    "message:streaming": {
      /** Identifies one choice of one stream: the same for all its pieces. */
      streamId: string;
      text: string;
      /** The last piece of this text, which may be empty. */
      final: boolean;
      source: string;
      model?: string;
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
