/** Which browser a request is for: one of this machine, one of a node, or a sandbox of the asking session. */
import { compile, type PluginContext, Type } from "portico";
import type { Access } from "portico/agent";
import { errors } from "../errors.ts";
import { policyOf } from "./imposed-policy.ts";
import { aboutOf } from "../declarations/routes.ts";
import type { Sandboxes } from "./sandboxes.ts";
import type { BrowserConfig, SandboxConfig } from "../schema.ts";
import type { BrowserControl } from "../browser-control.ts";
import type { BrowserResponse, BrowserRequest } from "../types.ts";

type Target = "host" | "sandbox" | "node";

interface TargetOptions {
  ctx: PluginContext;
  config(): BrowserConfig;
  sandbox(): SandboxConfig;
  /** This machine's browsers. */
  local(): Promise<BrowserControl>;
  sandboxes(): Promise<Sandboxes>;
  /** A tab of a person's own browser is attached to the relay here. */
  relayed(): boolean;
  env: NodeJS.ProcessEnv;
}

/** Who asks, and for what; of the agent's tool. */
export interface TargetChoice {
  target?: Target | undefined;
  /** With target `node`: which one. */
  node?: string | undefined;
  sessionKey: string;
  /** What the caller may use: its browser is the host's, or one of its own. */
  access: Pick<Access, "browser" | "principal">;
}

export interface Targets {
  /** For callers who know of no targets: HTTP, the command line, other plugins. */
  route(request: BrowserRequest): Promise<BrowserResponse>;
  /** For the agent's tool. */
  routeFor(request: BrowserRequest, choice: TargetChoice): Promise<BrowserResponse>;
}

/** The time that a node has beyond the route's own limit, ms. */
const NODE_EXTRA_MS = 5_000;
const ALLOW_HOST = "agents.defaults.sandbox.browser.allowHostControl";

export const createTargets = (options: TargetOptions): Targets => new TargetRouter(options);

/** Sends each request to a browser of this machine, of a sandbox, or of a node. */
class TargetRouter implements Targets {
  readonly #options: TargetOptions;
  readonly #hasBrowser: () => Promise<boolean>;

  constructor(options: TargetOptions) {
    this.#options = options;
    this.#hasBrowser = rememberBrowser(options);
  }

  async route(request: BrowserRequest): Promise<BrowserResponse> {
    if (!this.#options.config().enabled) return this.#toLocal(request);
    const named = this.#nodeOf(request);
    if (named !== undefined) {
      const query = { ...request.query, profile: named.name };
      return this.#toNode(named.node, { ...request, query }, true);
    }
    if (await this.#isMissing(request)) return this.#toNode(undefined, request, false);
    return this.#toLocal(request);
  }

  async routeFor(request: BrowserRequest, choice: TargetChoice): Promise<BrowserResponse> {
    const { target, node, sessionKey, access } = choice;
    if (access.browser === "own") return this.#toOwnContext(request, choice);
    const meant = target ?? (this.#isSandboxed ? "sandbox" : undefined);
    if (!this.#options.config().enabled || meant === undefined) return this.route(request);
    if (meant === "sandbox") {
      refuseProfile(request);
      return (await this.#options.sandboxes()).request(sessionKey, request);
    }
    if (meant === "node") return this.#toNode(node ?? this.#nodeOf(request)?.node, request, true);
    return this.#toHost(request);
  }

  get #isSandboxed(): boolean {
    return this.#options.sandbox().mode === "all";
  }

  /** To a browser of the host, or to the node that the named profile stands for. */
  async #toHost(request: BrowserRequest): Promise<BrowserResponse> {
    if (this.#isSandboxed && !this.#options.sandbox().browser.allowHostControl)
      throw errors.hostNotAllowed({ key: ALLOW_HOST }, { param: "target" });
    return this.#nodeOf(request) === undefined ? this.#toLocal(request) : this.route(request);
  }

  /** Of a caller who is not the owner: apart from the owner's browsers, profiles and nodes, and from other callers. */
  async #toOwnContext(
    request: BrowserRequest,
    { target, sessionKey, access }: TargetChoice,
  ): Promise<BrowserResponse> {
    if (!this.#options.config().enabled) return this.#toLocal(request);
    if (target === "host" || target === "node") throw errors.ownerOnly({ param: "target" });
    refuseProfile(request);
    const sandboxes = await this.#options.sandboxes();
    return sandboxes.request(sessionKey, request, access.principal);
  }

  async #toLocal(request: BrowserRequest): Promise<BrowserResponse> {
    return (await this.#options.local()).request(request);
  }

  async #toNode(
    node: string | undefined,
    request: BrowserRequest,
    orDefaultProfile: boolean,
  ): Promise<BrowserResponse> {
    const { ctx, config, local } = this.#options;
    const nodes = ctx.find("nodes");
    if (nodes === undefined) throw errors.nodesOff();
    const deadlineMs = (await local()).limitMs(request) + NODE_EXTRA_MS;
    const policy = policyOf(config(), ctx.ports());
    return nodes.request(node, { ...request, policy }, { deadlineMs, orDefaultProfile });
  }

  /** The node of a profile. */
  #nodeOf(request: BrowserRequest): { name: string; node: string } | undefined {
    // The list is this gateway's own; the data of a profile lie where its browser is.
    if (aboutOf(request.route) === "profiles" && request.route !== "/reset-profile")
      return undefined;
    const { defaultProfile, profiles } = this.#options.config();
    const name = profileOf(request) ?? defaultProfile;
    const node = profiles[name]?.node;
    return node === undefined ? undefined : { name, node };
  }

  /** True where a node should answer because there is no browser here. */
  async #isMissing(request: BrowserRequest): Promise<boolean> {
    const { ctx, config, local, relayed } = this.#options;
    const nodes = ctx.find("nodes");
    if (nodes?.mode !== "auto" || !nodes.any || config().attachOnly) return false;
    if (await this.#hasBrowser()) return false;
    const driver = await (await local()).driver(profileOf(request));
    return driver === "extension" ? !relayed() : driver !== "remote";
  }
}

/** The members by which a request may name a profile, before a route checks them. */
const named = compile(Type.Object({ profile: Type.String(), name: Type.String() }));

/** The profile that a request names. */
function profileOf(request: BrowserRequest): string | undefined {
  const members = named.merge(request);
  const name =
    members["profile"] ?? (request.route === "/reset-profile" ? members["name"] : undefined);
  return typeof name === "string" && name !== "" ? name : undefined;
}

function refuseProfile(request: BrowserRequest): void {
  if (profileOf(request) === undefined) return;
  throw errors.sandboxProfileNamed({ key: ALLOW_HOST }, { param: "profile" });
}

const FOUND_FOR_MS = 60_000;
const MISSING_FOR_MS = 3_000;

/** Looking for a browser asks the desktop, which takes its time. */
function rememberBrowser({ config, env }: TargetOptions): () => Promise<boolean> {
  let last: { path: string | undefined; until: number; found: Promise<boolean> } | undefined;
  return async () => {
    const path = config().executablePath;
    if (last === undefined || last.path !== path || Date.now() > last.until) {
      const found = import("../drivers/executables.ts")
        .then(({ findBrowser }) => findBrowser(path, process.platform, env))
        .then(
          () => true,
          () => false,
        );
      const entry = { path, until: Number.POSITIVE_INFINITY, found };
      last = entry;
      entry.until = Date.now() + ((await found) ? FOUND_FOR_MS : MISSING_FOR_MS);
    }
    return last.found;
  };
}
