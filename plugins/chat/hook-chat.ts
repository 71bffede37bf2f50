/** `ctx.chat` of a hook: asks a model and gives its text. */
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
    // No message:* or chat:* events: a hook that asks a model while it handles them would call itself.
    const completion = await chat.complete(request, {
      signal: call.signal,
      sessionKey: sessionFor(call),
      principal: call.principal,
      events: false,
    });
    return contentText(completion.choices[0]?.message.content);
  };
}

/** Sessions of one principal are never another's, so each has one of its own for a hook. */
function sessionFor({ hook, principal }: HookCall): string {
  return principal === "owner" ? `hook:${hook}` : `${principal}:hook:${hook}`;
}

/** The hook's own `model` option, else the agent's, else the default of the `models` service. */
async function defaultModel(chat: ModelsService, { options, config }: HookCall): Promise<string> {
  const own = options["model"] ?? config("agents.defaults.model");
  if (typeof own === "string") return own;
  return (await chat.defaultModel()) ?? "echo";
}

function refuseEndlessAgent(model: string, { events }: HookCall): void {
  const within = events.find((event) => event.startsWith("agent:"));
  if (!within || !/^agent(\/|$)/.test(model)) return;
  throw errors.endlessTurn({ event: within, model });
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: { text?: unknown }) => (typeof part?.text === "string" ? part.text : ""))
    .join("");
}

/** A text, messages, or the members of a request. */
function membersOf(input: Parameters<AskModel>[0]): Record<string, unknown> {
  if (typeof input === "string") return { messages: [{ role: "user", content: input }] };
  return Array.isArray(input) ? { messages: input } : { ...(input as Record<string, unknown>) };
}
