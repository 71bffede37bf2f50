/** Whether a model's name can lead anywhere, judged by the configuration alone. */
import { type ConfigCheckSubject, type ConfigFault, didYouMean } from "portico";
import { fitsPattern } from "portico/strings";

interface ChannelEntry {
  provider?: unknown;
  models?: unknown;
  enabled?: unknown;
}

/** Their upstreams list models with a slash in the name: there `meta-llama/…` need not be a channel. */
const SLASHED_NAMES =
  /^(openrouter|together|fireworks|nvidia|huggingface|groq|vllm|lmstudio|llamacpp)$/;
/** Providers that list nothing but their own name. */
const LISTS_ITSELF = new Set(["echo"]);

/**
 * Why nothing in the configuration can serve the model: undefined where something may. `path` is where the name stands.
 * A channel without `models` may list any name.
 */
export function modelFault(
  subject: ConfigCheckSubject,
  model: string,
  path: ConfigFault["path"],
): ConfigFault | undefined {
  const channels = recordAt<ChannelEntry>(subject.config, "channels");
  const aliases = recordAt(subject.config, "models");
  if (Object.hasOwn(aliases, model)) return undefined;
  const builtIn = subject.names("builtinChannel");
  if (builtIn === undefined) return undefined;
  const names = [...Object.keys(channels), ...builtIn];
  if (names.some((name) => model === name || model.startsWith(`${name}/`)))
    return agentModelFault(subject, model, path);
  const enabled = Object.values(channels).filter(({ enabled }) => enabled !== false);
  if (enabled.some((channel) => listsOrMay(channel, model))) return undefined;
  const slash = model.indexOf("/");
  if (slash > 0) {
    const channel = model.slice(0, slash);
    const nearest = didYouMean(channel, names);
    return {
      path,
      message: `names the channel ${JSON.stringify(channel)}, which does not exist`,
      nearest: nearest === undefined ? undefined : `${nearest}${model.slice(slash)}`,
    };
  }
  return {
    path,
    message: `names the model ${JSON.stringify(model)}, which no channel or alias offers`,
    nearest: didYouMean(model, [...Object.keys(aliases), ...names]),
  };
}

/** What a turn, job, poll or mapping names: a model, the one channel that is to serve it, and an agent. */
interface NamedTarget {
  model?: unknown;
  channel?: unknown;
  agent?: unknown;
}

/** The faults of a model, a channel and an agent. `path` is that of the object that holds them. */
export function targetFaults(
  subject: ConfigCheckSubject,
  { model, channel, agent }: NamedTarget,
  path: readonly (string | number)[],
): ConfigFault[] {
  const faults = [
    typeof model === "string" ? modelFault(subject, model, [...path, "model"]) : undefined,
    typeof channel === "string" ? channelFault(subject, channel, [...path, "channel"]) : undefined,
    typeof agent === "string" ? agentFault(subject, agent, [...path, "agent"]) : undefined,
  ];
  return faults.filter((fault) => fault !== undefined);
}

function channelFault(
  { config, names }: ConfigCheckSubject,
  channel: string,
  path: ConfigFault["path"],
): ConfigFault | undefined {
  const builtIn = names("builtinChannel");
  if (builtIn === undefined) return undefined;
  const channels = Object.keys(recordAt(config, "channels"));
  if ([...channels, ...builtIn].includes(channel)) return undefined;
  const message = `names the channel ${JSON.stringify(channel)}, which does not exist`;
  return { path, message, nearest: didYouMean(channel, [...channels, ...builtIn]) };
}

/** A model's fault where the name is a pattern: only what stands before its first `*` can be judged. */
export function modelPatternFault(
  subject: ConfigCheckSubject,
  pattern: string,
  path: ConfigFault["path"],
): ConfigFault | undefined {
  if (!pattern.includes("*")) return modelFault(subject, pattern, path);
  const [, channel, rest = ""] = /^([^*/]+)\/(.*)$/.exec(pattern) ?? [];
  const fault = channel === undefined ? undefined : modelFault(subject, `${channel}/any`, path);
  if (fault?.nearest === undefined) return fault;
  return { ...fault, nearest: fault.nearest.replace(/any$/, rest) };
}

function listsOrMay({ models, provider }: ChannelEntry, model: string): boolean {
  if (Array.isArray(models))
    return models.some((pattern) => typeof pattern === "string" && fitsPattern(pattern, model));
  if (LISTS_ITSELF.has(String(provider))) return model === provider;
  return !model.includes("/") || SLASHED_NAMES.test(String(provider));
}

/** `agent/<id>` must be an agent that is configured, unless a channel has that name. */
function agentModelFault(
  subject: ConfigCheckSubject,
  model: string,
  path: ConfigFault["path"],
): ConfigFault | undefined {
  const id = /^agent\/([^*]+)$/.exec(model)?.[1];
  if (id === undefined || id === "any") return undefined;
  if (Object.hasOwn(recordAt(subject.config, "channels"), "agent")) return undefined;
  const fault = agentFault(subject, id, path);
  if (fault?.nearest === undefined) return fault;
  return { ...fault, nearest: `agent/${fault.nearest}` };
}

/** The agent that is there without being configured. */
const MAIN_AGENT = "main";

function agentFault(
  { config }: ConfigCheckSubject,
  id: string,
  path: ConfigFault["path"],
): ConfigFault | undefined {
  const agents = [MAIN_AGENT, ...Object.keys(recordAt(recordAt(config, "agents"), "list"))];
  if (agents.includes(id)) return undefined;
  const message = `names the agent ${JSON.stringify(id)}, which does not exist`;
  return { path, message, nearest: didYouMean(id, agents) };
}

/** A member that is an object; empty where it is anything else. */
export function recordAt<T = unknown>(value: unknown, key: string): Record<string, T> {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return {};
  const member = (value as Record<string, unknown>)[key];
  const isRecord = typeof member === "object" && member !== null && !Array.isArray(member);
  return isRecord ? (member as Record<string, T>) : {};
}
