/** A gateway whose model replies as the test scripts it: a provider in the home, and the requests that it received. */
import type { ChatMessage, ChatRequest } from "portico/provider";
import { type InProcessGateway, startGateway, type TestOptions } from "../../support/gateway.ts";

/** An iterable is streamed piece by piece, and may break off. */
type Say = string | Partial<ChatMessage> | AsyncIterable<string> | Promise<string>;
type Script = (
  request: ChatRequest,
  info: { signal: AbortSignal; sessionKey: string; channel: string },
) => Say | Promise<Say>;

const SLOT = Symbol.for("portico.test.model");

const PROVIDER = `import { definePlugin, Type } from "portico";
export default definePlugin({
  name: "scripted",
  setup(ctx) {
    const answer = (request, info) => globalThis[Symbol.for("portico.test.model")](request, info);
    ctx.add("provider", {
      name: "scripted",
      builtinChannel: "scripted",
      async complete(request, info) {
        const said = await answer(request, info);
        const message = typeof said === "string" ? { role: "assistant", content: said } : { role: "assistant", ...said };
        return {
          id: info.id, object: "chat.completion", created: info.created, model: "scripted",
          choices: [{ index: 0, message, finish_reason: message.tool_calls ? "tool_calls" : "stop" }],
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        };
      },
      async *stream(request, info) {
        const said = await answer(request, info);
        if (said?.[Symbol.asyncIterator]) return yield* said;
        const { content, tool_calls: calls } = typeof said === "string" ? { content: said } : said;
        const delta = { role: "assistant", content, tool_calls: calls?.map((call, index) => ({ index, ...call })) };
        yield {
          id: info.id, object: "chat.completion.chunk", created: info.created, model: "scripted",
          choices: [{ index: 0, delta, finish_reason: calls ? "tool_calls" : "stop" }],
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        };
      },
      models: () => ["scripted"],
    });
    ctx.tool({
      name: "lookup", description: "Look a key up", parameters: Type.Object({ key: Type.String() }),
      handler: ({ key }) => "value of " + key,
    });
    ctx.tool({
      name: "hang", description: "Never answers", parameters: Type.Object({}), timeoutMs: 50,
      handler: () => new Promise(() => {}),
    });
    ctx.tool({
      name: "explode", description: "Throws", parameters: Type.Object({}),
      handler: () => { throw new Error("kaboom"); },
    });
  },
});
`;

export interface ScriptedGateway extends InProcessGateway {
  /** The requests to the model, oldest first. */
  asked: ChatRequest[];
  script(next: Script): void;
}

export async function scriptedGateway(options: TestOptions = {}): Promise<ScriptedGateway> {
  const requests: ChatRequest[] = [];
  let script: Script = () => "ok";
  (globalThis as Record<symbol, unknown>)[SLOT] = (
    request: ChatRequest,
    info: Parameters<Script>[1],
  ) => {
    requests.push(structuredClone({ ...request, messages: request.messages }));
    return script(request, info);
  };
  const { agents, ...config } = (options.config ?? {}) as { agents?: { defaults?: object } };
  const defaults = { model: "scripted", retryDelayMs: 20, ...agents?.defaults };
  const gateway = await startGateway({
    ...options,
    config: { ...config, agents: { ...agents, defaults } },
    files: { "plugins/scripted/plugin.ts": PROVIDER, ...options.files },
  });
  return Object.assign(gateway, {
    asked: requests,
    script: (next: Script) => {
      script = next;
    },
  });
}

let calls = 0;

/** An assistant message that calls one tool. */
export function call(name: string, args: unknown): Partial<ChatMessage> {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  return {
    content: null,
    tool_calls: [{ id: `call_${++calls}`, type: "function", function: { name, arguments: text } }],
  };
}

export function lastOf(request: ChatRequest): string {
  return String(request.messages.at(-1)?.content);
}
