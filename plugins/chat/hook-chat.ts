/** `ctx.chat` of a hook: asks a model and returns its text. */
import type { HookCall } from "portico";
import type { ChatRequest } from "portico/provider";
import type { ModelsService } from "portico/models";
import { errors } from "./errors.ts";

export type AskModel = (
  input: string | readonly object[] | Record<string, unknown>,
) => Promise<string>;

export function createHookChat(chat: ModelsService, call: HookCall): AskModel {
  return async (input) => {
    const members = membersOf(input);
    const model =
      typeof members["model"] === "string" ? members["model"] : await defaultModel(chat, call);
    refuseEndlessAgent(model, call);
    const request = { ...members, model, stream: false } as unknown as ChatRequest;
    // The request emits no message:* or chat:* events: a hook on them that asks a model would otherwise call itself.
    const completion = await chat.complete(request, {
      signal: call.signal,
      sessionKey: sessionFor(call),
      principal: call.principal,
      events: false,
    });
    return contentText(completion.choices[0]?.message.content);
  };
}

/** Returns the session of a hook. Principals never share a session, so each has its own per hook. */
function sessionFor({ hook, principal }: HookCall): string {
  return principal === "owner" ? `hook:${hook}` : `${principal}:hook:${hook}`;
}

/** Returns the hook's own option `model`, or else the agent's model, or else the default of the service `models`. */
async function defaultModel(chat: ModelsService, { options, config }: HookCall): Promise<string> {
  const configured = options["model"] ?? config("agents.defaults.model");
  if (typeof configured === "string") return configured;
  return (await chat.defaultModel()) ?? "echo";
}

/** Throws if a hook on the agent's events asks the agent, which would emit these events again. */
function refuseEndlessAgent(model: string, { events }: HookCall): void {
  const agentEvent = events.find((event) => event.startsWith("agent:"));
  if (!agentEvent || !/^agent(\/|$)/.test(model)) return;
  throw errors.endlessTurn({ event: agentEvent, model });
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: { text?: unknown }) => (typeof part?.text === "string" ? part.text : ""))
    .join("");
}

/** Returns the members of the request that a text, a list of messages, or a request stands for. */
function membersOf(input: Parameters<AskModel>[0]): Record<string, unknown> {
  if (typeof input === "string") return { messages: [{ role: "user", content: input }] };
  return Array.isArray(input) ? { messages: input } : { ...(input as Record<string, unknown>) };
}
