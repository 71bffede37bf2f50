/** The `ctx` that a handler gets. Everything in it is looked up at the moment of use: services come and go. */
import { PorticoError } from "../../errors.ts";
import { running } from "../../owner.ts";
import type { EventName, Events, HookContext, HookKv, Logger, Paths } from "../../types.ts";
import type { HookMeta } from "../on-disk/front-matter.ts";
import type { HookSurroundings } from "../settings.ts";

export interface ContextParts {
  name: string;
  dir: string;
  meta: HookMeta;
  log: Logger;
  signal: AbortSignal;
  unloaded: AbortSignal;
  around: HookSurroundings;
}

/** A new context for one call. */
export function createHandlerContext(parts: ContextParts): HookContext {
  const { around, name, dir, meta, signal } = parts;
  const entry = around.entry(name);
  return {
    log: parts.log,
    signal,
    unloaded: parts.unloaded,
    config: ownOptions(entry),
    env: ownEnvironment(meta, entry.env, around),
    paths: hookPaths(around.paths, dir),
    kv: createKv(name, around),
    chat: (input) => askModel(input, parts),
    emit: async <K extends EventName>(event: K, context: Events[K]) => around.emit(event, context),
  };
}

function hookPaths({ home, state, workspace }: Paths, hook: string): HookContext["paths"] {
  return { home, state, workspace, hook };
}

/** `hooks.entries.<name>` without what Portico itself reads; a copy, so that a handler cannot change the configuration. */
function ownOptions(entry: Record<string, unknown>): Record<string, unknown> {
  const { enabled, env, ...options } = entry;
  return structuredClone(options);
}

function ownEnvironment(meta: HookMeta, given: Record<string, string> | undefined, around: HookSurroundings) {
  const secrets = new Set(around.secrets());
  const env: Record<string, string | undefined> = {};
  for (const variable of meta.requires.env) {
    const value = around.env[variable];
    // The gateway's own token is nobody's business, whatever a hook declares.
    if (value !== undefined && !secrets.has(value)) env[variable] = value;
  }
  return Object.assign(env, given);
}

function createKv(name: string, around: HookSurroundings): HookKv {
  const namespace = `hook:${name}`;
  const kv = () => {
    const store = around.services.find("store");
    if (!store) throw new PorticoError("service_unavailable", "ctx.kv needs the store, which is not running.");
    return store.kv;
  };
  return {
    get: async (key) => kv().get(namespace, key),
    set: async (key, value) => kv().set(namespace, key, value),
    delete: async (key) => kv().delete(namespace, key),
    list: async (prefix) => kv().list(namespace, prefix),
  };
}

interface ChatLike {
  complete(
    request: Record<string, unknown>,
    options: object,
  ): Promise<{ choices: { message: { content?: unknown } }[] }>;
  models(): Promise<{ id: string }[]>;
}

async function askModel(input: Parameters<HookContext["chat"]>[0], parts: ContextParts): Promise<string> {
  const chat = parts.around.services.find("chat" as never) as ChatLike | undefined;
  if (!chat) throw new PorticoError("service_unavailable", "ctx.chat needs the chat plugin, which is not running.");
  const given: Record<string, unknown> =
    typeof input === "string"
      ? { messages: [{ role: "user", content: input }] }
      : Array.isArray(input)
        ? { messages: input }
        : { ...(input as Record<string, unknown>) };
  const model = typeof given["model"] === "string" ? given["model"] : await defaultModel(chat, parts);
  refuseEndlessAgent(model);
  // No message:* or chat:* events: a hook that asks a model while it handles them would call itself.
  const answer = await chat.complete(
    { ...given, model, stream: false },
    { signal: parts.signal, sessionKey: `hook:${parts.name}`, events: false },
  );
  return contentText(answer.choices[0]?.message.content);
}

/** The hook's own `model` option, else the agent's, else the first real one that is listed, else `echo`. */
async function defaultModel(chat: ChatLike, { around, name }: ContextParts): Promise<string> {
  const own = around.entry(name)["model"] ?? around.lookup("agents.defaults.model");
  if (typeof own === "string") return own;
  const listed = await chat.models();
  return listed.find(({ id }) => !/^(agent|echo)(\/|$)/.test(id))?.id ?? "echo";
}

function refuseEndlessAgent(model: string): void {
  const within = running()?.chain.find((event) => event.startsWith("agent:"));
  if (!within || !/^agent(\/|$)/.test(model)) return;
  throw new PorticoError(
    "event_loop",
    `A hook on ${within} cannot ask the model ${model}: that starts a turn, which emits ${within} again. Ask another model.`,
    { status: 409 },
  );
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown }) => (typeof part?.text === "string" ? part.text : "")).join("");
}
