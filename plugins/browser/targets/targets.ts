/** Which browser a request is for: one of this machine, one of a node, or a sandbox of the asking session. */
import { compile, type PluginContext, Type } from "portico";
import type { Access } from "portico/agent";
import { errors } from "../errors.ts";
import { policyOf } from "./imposed-policy.ts";
import { aboutOf } from "../paths.ts";
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

export function createTargets(options: TargetOptions): Targets {
  const { ctx, config, local } = options;
  const hasBrowser = rememberBrowser(options);

  async function toNode(
    node: string | undefined,
    request: BrowserRequest,
    orDefaultProfile: boolean,
  ): Promise<BrowserResponse> {
    const nodes = ctx.find("nodes");
    if (nodes === undefined) throw errors.nodesOff();
    const deadlineMs = (await local()).limitMs(request) + NODE_EXTRA_MS;
    const policy = policyOf(config(), ctx.ports());
    return nodes.request(node, { ...request, policy }, { deadlineMs, orDefaultProfile });
  }

  /** The node that a profile stands for. */
  function nodeOf(request: BrowserRequest): { name: string; node: string } | undefined {
    // The list is this gateway's own; the data of a profile lie where its browser is.
    if (aboutOf(request.route) === "profiles" && request.route !== "/reset-profile")
      return undefined;
    const { defaultProfile, profiles } = config();
    const name = profileOf(request) ?? defaultProfile;
    const node = profiles[name]?.node;
    return node === undefined ? undefined : { name, node };
  }

  /** True where a node should answer because there is no browser here. */
  async function isMissing(request: BrowserRequest): Promise<boolean> {
    const nodes = ctx.find("nodes");
    if (nodes?.mode !== "auto" || !nodes.any || config().attachOnly || (await hasBrowser()))
      return false;
    const driver = await (await local()).driver(profileOf(request));
    return driver === "extension" ? !options.relayed() : driver !== "remote";
  }

  async function route(request: BrowserRequest): Promise<BrowserResponse> {
    if (!config().enabled) return (await local()).request(request);
    const named = nodeOf(request);
    if (named !== undefined)
      return toNode(
        named.node,
        { ...request, query: { ...request.query, profile: named.name } },
        true,
      );
    return (await isMissing(request))
      ? toNode(undefined, request, false)
      : (await local()).request(request);
  }

  async function routeFor(
    request: BrowserRequest,
    { target, node, sessionKey, access }: TargetChoice,
  ): Promise<BrowserResponse> {
    if (access.browser === "own") return toOwnContext(request, { target, sessionKey, access });
    const isSandboxed = options.sandbox().mode === "all";
    const meant = target ?? (isSandboxed ? "sandbox" : undefined);
    if (!config().enabled || meant === undefined) return route(request);
    if (meant === "sandbox") {
      refuseProfile(request);
      return (await options.sandboxes()).request(sessionKey, request);
    }
    if (meant === "node") return toNode(node ?? nodeOf(request)?.node, request, true);
    if (isSandboxed && !options.sandbox().browser.allowHostControl) {
      throw errors.hostNotAllowed({ key: ALLOW_HOST }, { param: "target" });
    }
    const named = nodeOf(request);
    return named === undefined ? (await local()).request(request) : route(request);
  }

  /** Of a caller who is not the owner: apart from the owner's browsers, profiles and nodes, and from other callers. */
  async function toOwnContext(
    request: BrowserRequest,
    { target, sessionKey, access }: TargetChoice,
  ): Promise<BrowserResponse> {
    if (!config().enabled) return (await local()).request(request);
    if (target === "host" || target === "node") throw errors.ownerOnly({ param: "target" });
    refuseProfile(request);
    const sandboxes = await options.sandboxes();
    return sandboxes.request(sessionKey, request, access.principal);
  }

  return { route, routeFor };
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
