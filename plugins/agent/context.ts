/** What the agent's files share: the store, the settings of each agent, how errors are shown. */
import { absolutePath, type Client, type PluginContext, type Principal } from "portico";
import type { Store } from "portico/store";
import { errors } from "./errors.ts";
import { type Access, decideAccess } from "./access/access.ts";
import { findGrant } from "./access/grants.ts";
import { StorageQuota } from "./access/storage.ts";
import type { AgentList, Defaults } from "./schema.ts";
import { StepCosts } from "./turns/trace.ts";

/** One agent's settings: the defaults with what `agents.list.<id>` says instead. */
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
  /** What a principal may use, as the configuration has it now. */
  access(principal: Principal): Promise<Access>;
  /** What the requests to models cost. */
  costs: StepCosts;
  /** What principals may keep. */
  storage: StorageQuota;
  /**
   * On whose account a turn asks models where its caller is not at this gateway; undefined: the owner's. `isPlanned`: no
   * caller waits for it. Throws `forbidden` then for a client key that is gone: what it has planned ends with it.
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
      const own = Object.hasOwn(list, agentId) ? list[agentId] : undefined;
      if (!own && agentId !== MAIN_AGENT) {
        throw errors.unknownAgent({ agent: agentId }, { param: "agent" });
      }
      const { tools, ...rest } = own ?? {};
      // that of the defaults is already in the paths
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

/** An error as it is kept with a turn and shown: code, message and HTTP status, nothing else. */
export function shownError(error: unknown): { code: string; message: string; status?: number } {
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
