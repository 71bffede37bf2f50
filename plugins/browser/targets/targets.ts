/** Selects the browser for a request: one of this machine, one of a node, or the sandbox of the calling session. */
import { compile, type PluginContext, Type } from "portico";
import type { Access } from "portico/agent";
import { errors } from "../errors.ts";
import { createImposedPolicy } from "./imposed-policy.ts";
import { subjectOf } from "../declarations/routes.ts";
import type { Sandboxes } from "./sandboxes.ts";
import type { BrowserConfig, SandboxConfig } from "../schema.ts";
import type { BrowserControl } from "../browser-control.ts";
import type { BrowserResponse, BrowserRequest } from "../types.ts";

type Target = "host" | "sandbox" | "node";

interface TargetOptions {
  ctx: PluginContext;
  config(): BrowserConfig;
  sandbox(): SandboxConfig;
  /** Returns the control of this machine's browsers. */
  local(): Promise<BrowserControl>;
  sandboxes(): Promise<Sandboxes>;
  /**
   * True if a tab of a user's own browser is attached to this gateway's relay, or its extension is away for a moment.
   */
  hasRelayedTab(): boolean;
  env: NodeJS.ProcessEnv;
}

/** The caller of the agent's tool, and the target that it chose. */
export interface TargetChoice {
  target?: Target | undefined;
  /** The name of the node, with target `node`. */
  node?: string | undefined;
  sessionKey: string;
  /** The caller's permissions: it may use the host's browsers, or only its own. */
  access: Pick<Access, "browser" | "principal">;
}

export interface Targets {
  /** Routes requests of callers that do not choose a target: HTTP, the command line, other plugins. */
  route(request: BrowserRequest): Promise<BrowserResponse>;
  /** Routes requests of the agent's tool. */
  routeFor(request: BrowserRequest, choice: TargetChoice): Promise<BrowserResponse>;
}

/** The extra time in ms that a node has beyond the route's own limit. */
const NODE_EXTRA_MS = 5_000;
const ALLOW_HOST = "agents.defaults.sandbox.browser.allowHostControl";

export const createTargets = (options: TargetOptions): Targets => new TargetRouter(options);

/** Sends each request to a browser of this machine, of a sandbox, or of a node. */
class TargetRouter implements Targets {
  readonly #options: TargetOptions;
  readonly #hasBrowser: () => Promise<boolean>;

  constructor(options: TargetOptions) {
    this.#options = options;
    this.#hasBrowser = createBrowserCheck(options);
  }

  async route(request: BrowserRequest): Promise<BrowserResponse> {
    if (!this.#options.config().enabled) return this.#toLocal(request);
    const nodeProfile = this.#nodeOf(request);
    if (nodeProfile !== undefined) {
      const query = { ...request.query, profile: nodeProfile.name };
      return this.#toNode(nodeProfile.node, { ...request, query }, true);
    }
    if (await this.#needsNode(request)) return this.#toNode(undefined, request, false);
    return this.#toLocal(request);
  }

  async routeFor(request: BrowserRequest, choice: TargetChoice): Promise<BrowserResponse> {
    const { target, node, sessionKey, access } = choice;
    if (access.browser === "own") return this.#toOwnContext(request, choice);
    const effectiveTarget = target ?? (this.#isSandboxed ? "sandbox" : undefined);
    if (!this.#options.config().enabled || effectiveTarget === undefined)
      return this.route(request);
    if (effectiveTarget === "sandbox") {
      rejectProfile(request);
      return (await this.#options.sandboxes()).request(sessionKey, request);
    }
    if (effectiveTarget === "node")
      return this.#toNode(node ?? this.#nodeOf(request)?.node, request, true);
    return this.#toHost(request);
  }

  get #isSandboxed(): boolean {
    return this.#options.sandbox().mode === "all";
  }

  /** Sends a request to a browser of the host, or to the node that the profile names. */
  async #toHost(request: BrowserRequest): Promise<BrowserResponse> {
    if (this.#isSandboxed && !this.#options.sandbox().browser.allowHostControl)
      throw errors.hostNotAllowed({ key: ALLOW_HOST }, { param: "target" });
    return this.#nodeOf(request) === undefined ? this.#toLocal(request) : this.route(request);
  }

  /**
   * Sends a request of a caller who is not the owner to a separate sandbox: isolated from the owner's browsers,
   * profiles and nodes, and from other callers.
   */
  async #toOwnContext(
    request: BrowserRequest,
    { target, sessionKey, access }: TargetChoice,
  ): Promise<BrowserResponse> {
    if (!this.#options.config().enabled) return this.#toLocal(request);
    if (target === "host" || target === "node") throw errors.ownerOnly({ param: "target" });
    rejectProfile(request);
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
    const policy = createImposedPolicy(config(), ctx.ports());
    return nodes.request(node, { ...request, policy }, { deadlineMs, orDefaultProfile });
  }

  /** Returns the requested profile if it runs on a node, and that node. */
  #nodeOf(request: BrowserRequest): { name: string; node: string } | undefined {
    // The list of profiles belongs to this gateway, but the data of a profile is on the machine of its browser.
    if (subjectOf(request.route) === "profiles" && request.route !== "/reset-profile")
      return undefined;
    const { defaultProfile, profiles } = this.#options.config();
    const name = profileOf(request) ?? defaultProfile;
    const node = profiles[name]?.node;
    return node === undefined ? undefined : { name, node };
  }

  /** True if a node should handle the request because this machine has no browser. */
  async #needsNode(request: BrowserRequest): Promise<boolean> {
    const { ctx, config, local, hasRelayedTab } = this.#options;
    const nodes = ctx.find("nodes");
    if (nodes?.mode !== "auto" || !nodes.any || config().attachOnly) return false;
    if (await this.#hasBrowser()) return false;
    const driver = await (await local()).driver(profileOf(request));
    return driver === "extension" ? !hasRelayedTab() : driver !== "remote";
  }
}

/** The fields in which a request may name a profile, read before the route validates them. */
const profileFields = compile(Type.Object({ profile: Type.String(), name: Type.String() }));

/** Returns the profile that a request names. */
function profileOf(request: BrowserRequest): string | undefined {
  const fields = profileFields.merge(request);
  const name =
    fields["profile"] ?? (request.route === "/reset-profile" ? fields["name"] : undefined);
  return typeof name === "string" && name !== "" ? name : undefined;
}

function rejectProfile(request: BrowserRequest): void {
  if (profileOf(request) === undefined) return;
  throw errors.sandboxProfileNamed({ key: ALLOW_HOST }, { param: "profile" });
}

const PRESENT_TTL_MS = 60_000;
const MISSING_TTL_MS = 3_000;

/** Caches whether a browser is installed, because the search queries the desktop, which is slow. */
function createBrowserCheck({ config, env }: TargetOptions): () => Promise<boolean> {
  let cache: { path: string | undefined; until: number; isPresent: Promise<boolean> } | undefined;
  return async () => {
    const path = config().executablePath;
    if (cache === undefined || cache.path !== path || Date.now() > cache.until) {
      const isPresent = import("../drivers/executables.ts")
        .then(({ findBrowser }) => findBrowser(path, process.platform, env))
        .then(
          () => true,
          () => false,
        );
      const entry = { path, until: Number.POSITIVE_INFINITY, isPresent };
      cache = entry;
      entry.until = Date.now() + ((await isPresent) ? PRESENT_TTL_MS : MISSING_TTL_MS);
    }
    return cache.isPresent;
  };
}
