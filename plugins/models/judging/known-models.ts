/** Checks from the configuration alone whether anything can serve a model. */
import { type ConfigCheckSubject, type ConfigFault, didYouMean } from "portico";
import { fitsPattern } from "portico/strings";

interface ChannelEntry {
  provider?: unknown;
  models?: unknown;
  enabled?: unknown;
}

/** Providers whose upstreams list models with a slash in the name: there `meta-llama/…` need not be a channel. */
const SLASHED_NAMES =
  /^(openrouter|together|fireworks|nvidia|huggingface|groq|vllm|lmstudio|llamacpp)$/;
/** Providers that list only their own name. */
const LISTS_ITSELF = new Set(["echo"]);

/**
 * Returns the fault if nothing in the configuration can serve the model; undefined if something may. `path` is the
 * position of the name. A channel without `models` may list any name.
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
  if (enabled.some((channel) => mayServe(channel, model))) return undefined;
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

/** The model, channel and agent that a turn, job, poll or mapping names. Only that channel may serve the model. */
interface NamedTarget {
  model?: unknown;
  channel?: unknown;
  agent?: unknown;
}

/** Returns the faults of a model, a channel and an agent. `path` is that of the object that contains them. */
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

/** Like `modelFault` for a name that may be a pattern, of which only the part before the first `*` can be checked. */
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

function mayServe({ models, provider }: ChannelEntry, model: string): boolean {
  if (Array.isArray(models))
    return models.some((pattern) => typeof pattern === "string" && fitsPattern(pattern, model));
  if (LISTS_ITSELF.has(String(provider))) return model === provider;
  return !model.includes("/") || SLASHED_NAMES.test(String(provider));
}

/** Returns the fault if `agent/<id>` is not a configured agent, unless a channel has the name `agent`. */
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

/** The agent that exists without configuration. */
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

/** Returns a member that is an object, and an empty object for anything else. */
export function recordAt<T = unknown>(value: unknown, key: string): Record<string, T> {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return {};
  const member = (value as Record<string, unknown>)[key];
  const isRecord = typeof member === "object" && member !== null && !Array.isArray(member);
  return isRecord ? (member as Record<string, T>) : {};
}
