/**
 * The context that the modules of this plugin share: the store, the settings of each agent, and the public form of
 * errors.
 */
import { absolutePath, type Client, type PluginContext, type Principal } from "portico";
import type { Store } from "portico/store";
import { errors } from "./errors.ts";
import { type Access, decideAccess } from "./access/access.ts";
import { findGrant } from "./access/grants.ts";
import { StorageQuota } from "./access/storage.ts";
import type { AgentList, Defaults } from "./schema.ts";
import { StepCosts } from "./turns/trace.ts";

/** One agent's settings: the defaults, overridden by `agents.list.<id>`. */
export interface AgentSettings extends Omit<Defaults, "workspace"> {
  id: string;
  workspace: string;
}

export interface AgentConfig {
  "agents.defaults": Defaults;
  "agents.list": AgentList;
}

export interface AgentContext {
  ctx: PluginContext;
  store(): Store;
  defaults(): Defaults;
  agentIds(): string[];
  /** Throws `model_not_found` for an id that is not in `agents.list`. */
  settings(agentId: string | undefined): AgentSettings;
  /** Returns what a principal may use according to the current configuration. */
  access(principal: Principal): Promise<Access>;
  /** Assigns the cost of requests to the steps that made them. */
  costs: StepCosts;
  /** Enforces the storage limit of each principal. */
  storage: StorageQuota;
  /**
   * Returns the client that pays for a turn whose caller is not connected to this gateway; undefined stands for the
   * owner. `isPlanned`: no caller waits for the turn. Such a turn throws `forbidden` if its client key no longer exists,
   * because the work that a key has planned ends with the key.
   */
  client(principal: Principal, isPlanned: boolean): Promise<Client | undefined>;
}

export const MAIN_AGENT = "main";
export const MAIN_SESSION = "main";

export function createAgentContext(ctx: PluginContext, config: () => AgentConfig): AgentContext {
  return {
    ctx,
    store: () => ctx.use("store"),
    defaults: () => config()["agents.defaults"],
    async access(principal) {
      const grant = await findGrant(ctx, principal);
      return decideAccess({ principal, grant, stateDir: ctx.paths.state });
    },
    storage: new StorageQuota({
      store: () => ctx.use("store"),
      stateDir: ctx.paths.state,
      quota: () => config()["agents.defaults"].quotaBytes,
    }),
    costs: new StepCosts(),
    agentIds: () => [...new Set([MAIN_AGENT, ...Object.keys(config()["agents.list"])])],
    async client(principal, isPlanned) {
      const client = (await findGrant(ctx, principal))?.client;
      if (client !== undefined || !isPlanned || !principal.startsWith("key:")) return client;
      throw errors.noWorkingKey({ principal });
    },
    settings(agentId = MAIN_AGENT) {
      const { "agents.defaults": defaults, "agents.list": list } = config();
      const agentEntry = Object.hasOwn(list, agentId) ? list[agentId] : undefined;
      if (!agentEntry && agentId !== MAIN_AGENT) {
        throw errors.unknownAgent({ agent: agentId }, { param: "agent" });
      }
      const { tools, ...rest } = agentEntry ?? {};
      // `ctx.paths.workspace` already reflects the workspace of the defaults.
      const workspace =
        rest.workspace === undefined ? ctx.paths.workspace : absolutePath(rest.workspace);
      return {
        ...defaults,
        ...rest,
        id: agentId,
        workspace,
        tools: { ...defaults.tools, ...tools },
      };
    },
  };
}

/** Reduces an error to the fields that are stored with a turn and shown: code, message and HTTP status. */
export function toPublicError(error: unknown): { code: string; message: string; status?: number } {
  if (
    error instanceof Error &&
    "code" in error &&
    "status" in error &&
    typeof error.code === "string"
  ) {
    return { code: error.code, message: error.message, status: Number(error.status) || undefined };
  }
  return {
    code: "internal_error",
    message: "The turn failed because of an error in the gateway. See its log for details.",
  };
}
