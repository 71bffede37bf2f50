/** Plans a request: finds its endpoint or mapping, and creates the work that it starts. */
import {
  compile,
  exactJson,
  isPorticoError,
  parseJson,
  type PluginContext,
  type PorticoError,
  type Static,
} from "portico";
import type { AgentService } from "portico/agent";
import { type BodySource, readBody, unwrapPayload } from "./bodies/read.ts";
import { errors } from "./errors.ts";
import { CHALLENGE } from "./intake/credentials.ts";
import { createEmptyWork, type StartedWork } from "./started-work.ts";
import { createAgentWork, createMappingWork, createWakeWork } from "./create-work.ts";
import type { Mismatch } from "./mappings/match.ts";
import type { Request } from "./mappings/paths.ts";
import { type Change, readChange, render, type Rendering } from "./mappings/rendering.ts";
import { agentRequest, wakeRequest } from "./schema.ts";
import { type Credential, listKeySessions, type Mapping, type Settings } from "./settings.ts";
import type { Transforms } from "./mappings/transform.ts";

/** `path` is the path below the prefix; `source` names it in the delivery log. */
export type Target = { path: string; source: string } & (
  | { kind: "wake" | "agent" | "unknown"; mapping?: undefined }
  | { kind: "root"; mapping?: undefined }
  | { kind: "mapping"; mapping: Mapping }
  | { kind: "status"; what: "events" | "turns"; id: string; mapping?: undefined }
);

export interface Plan {
  work: StartedWork;
  /** `wake`, `agent`, or the name of the mapping. */
  source: string;
  request: Request;
  /** The placeholders without a value. */
  missing?: readonly string[];
  /** True if the sender only verifies the address. */
  challenge?: boolean;
  /** The condition that does not hold, if the request names its mapping but does not match it. */
  mismatch?: Mismatch;
  rendering?: Rendering;
}

export interface Planner {
  /** Parses the body for the target. Throws 415 or 400. */
  read(target: Target, source: BodySource): Reading | Promise<Reading>;
  /** Plans a request without storing anything. Throws 400 for an invalid body, 404 `no_mapping`, 500 `transform_failed`. */
  plan(target: Target, request: Request, permission?: Permission): Plan | Promise<Plan>;
}

/** A parsed body, and its variants for single mappings (see `Request`). */
export type Reading = Pick<Request, "body" | "variants">;

/** The rights of a caller. */
interface Permission {
  /** The mapping whose signature is valid. */
  mapping?: Mapping | undefined;
  allowed(mapping: Mapping): boolean;
  credential: Pick<Credential, "checkNames" | "ownSessions" | "principal">;
}

/** The rights of the owner, for tests. */
const OWNER_PERMISSION: Permission = {
  allowed: () => true,
  credential: { principal: "owner", checkNames: () => {} },
};

/**
 * Returns the rights of a replay, which may reach every mapping. It acts for the principal of the credential that sent the
 * delivery, or for `outside` if that credential no longer exists.
 */
export function findReplayPermission({ tokens }: Settings, credential: unknown): Permission {
  const original = tokens.find((token) => token.credential.name === credential)?.credential;
  return { allowed: () => true, credential: original ?? NO_CREDENTIAL };
}

const NO_CREDENTIAL: Permission["credential"] = { principal: "outside", checkNames: () => {} };

/** Calls `decodeURIComponent` only if necessary, because it costs as much as the rest of `readTarget`. */
const decodePart = (part: string): string => (part.includes("%") ? decodeURIComponent(part) : part);

export function readTarget(path: string, { prefix, mappings }: Settings): Target {
  const begin = path.charAt(prefix.length) === "/" ? prefix.length + 1 : prefix.length;
  const subpath = path.slice(begin, path.length > begin && path.endsWith("/") ? -1 : undefined);
  // This runs for each request, and most paths have a single part.
  const [first = "", second, ...rest] = subpath.includes("/")
    ? subpath.split("/").map(decodePart)
    : [decodePart(subpath)];
  if (second !== undefined && rest.length === 0 && (first === "events" || first === "turns"))
    return { kind: "status", path: subpath, source: first, what: first, id: second };
  if (second !== undefined) return { kind: "unknown", path: subpath, source: "unknown" };
  if (first === "") return { kind: "root", path: "", source: "/" };
  if (first === "wake" || first === "agent") return { kind: first, path: first, source: first };
  const mapping = mappings.get(first);
  return mapping
    ? { kind: "mapping", path: first, source: first, mapping }
    : { kind: "unknown", path: subpath, source: "unknown" };
}

export interface PlannerOptions {
  ctx: PluginContext;
  settings(): Settings;
  transforms: Transforms;
}

export function createPlanner(options: PlannerOptions): Planner {
  return new WebhookPlanner(options);
}

class WebhookPlanner implements Planner {
  readonly #options: PlannerOptions;
  readonly #wakeCheck = compile(wakeRequest);
  readonly #agentCheck = compile(agentRequest);

  constructor(options: PlannerOptions) {
    this.#options = options;
  }

  read(target: Target, source: BodySource): Reading | Promise<Reading> {
    if (target.kind === "wake" || target.kind === "agent")
      return { body: parseJson(source.bytes, { limits: source.limits }) };
    if (target.kind === "mapping") return readFor(target.mapping, source);
    return readForRoot([...this.#options.settings().mappings.values()], source);
  }

  plan(target: Target, request: Request, permission = OWNER_PERMISSION): Plan | Promise<Plan> {
    const { allowed, credential } = permission;
    if (target.kind === "wake") {
      const body = this.#wakeCheck.parse(request.body);
      return {
        source: "wake",
        request,
        work: createWakeWork(this.#agent, body, credential.principal),
      };
    }
    if (target.kind === "agent") {
      const body = this.#agentCheck.parse(request.body);
      credential.checkNames(body);
      return this.#planTurn(body, request, credential);
    }
    const { source } = target;
    const signedMapping = permission.mapping ?? target.mapping;
    if (signedMapping && isChallenge(signedMapping, request.body)) {
      const { challenge } = request.body as { challenge: string };
      return { source, request, work: createEmptyWork(200, { challenge }), challenge: true };
    }
    const selection = this.#selectMapping(target, request, allowed);
    if ("mapping" in selection) return this.#planMapping(selection.mapping, request);
    return { source, request, ...createSkippedPlan(selection.mismatch) };
  }

  async #planTurn(
    body: Static<typeof agentRequest>,
    request: Request,
    credential: Permission["credential"],
  ): Promise<Plan> {
    const work = await createAgentWork(this.#agent, body, credential);
    return { source: "agent", request, work };
  }

  get #agent(): AgentService {
    return this.#options.ctx.use("agent");
  }

  /** Selects the mapping of a request, or returns the mismatch if the request names a mapping but does not match it. */
  #selectMapping(
    target: Target,
    request: Request,
    allowed: (mapping: Mapping) => boolean,
  ): { mapping: Mapping } | { mismatch: Mismatch } {
    const candidates =
      target.kind === "mapping"
        ? [target.mapping]
        : [...this.#options.settings().mappings.values()].filter(({ match }) => match);
    const results = candidates.map((mapping) => ({
      mapping,
      mismatch: mapping.match?.mismatch(withVariant(mapping, request)),
    }));
    const matching = results.filter(({ mismatch }) => mismatch === undefined);
    const selected = matching.find(({ mapping }) => allowed(mapping));
    if (selected) return { mapping: selected.mapping };
    const [refused] = matching;
    if (refused) throw refuseMapping(refused.mapping);
    const mismatch = results[0]?.mismatch;
    if (target.kind === "mapping" && mismatch) return { mismatch };
    throw errors.noMapping();
  }

  async #planMapping(mapping: Mapping, original: Request): Promise<Plan> {
    const { ctx, settings } = this.#options;
    const request = withVariant(mapping, original);
    const source = mapping.name;
    const change = await this.#transform(mapping, request);
    if (change.skip) return { source, request, work: createEmptyWork(204) };
    const rendering = render(mapping, request, change, listKeySessions(settings()));
    const burstKey = mapping.burst?.key.render(
      change.body === undefined ? request : { ...request, body: change.body },
    );
    const missing = [...rendering.missing, ...(burstKey?.missing ?? [])];
    if (missing.length > 0)
      ctx.log.warn({ mapping: source, missing }, "a webhook has no value for a placeholder");
    // A key without any value would join unrelated requests in one burst.
    const burst = burstKey?.isBlank ? undefined : burstKey?.text;
    const work = await createMappingWork(this.#agent, mapping, request, rendering, burst);
    return { source, request, missing, rendering, work };
  }

  async #transform({ name, config }: Mapping, request: Request): Promise<Change> {
    if (config.transform === undefined) return { overrides: {} };
    const { settings, transforms } = this.#options;
    const input = { ...request, body: exactJson.toPlain(request.body), mapping: name };
    const { transformTimeoutMs } = settings().config;
    return readChange(await transforms.run(config.transform, input, transformTimeoutMs), name);
  }
}

/** Responds with 200, because senders disable a webhook that responds with 404 to some of their events. */
function createSkippedPlan(mismatch: Mismatch): Pick<Plan, "work" | "mismatch"> {
  const message = "The request does not match the mapping, so nothing was started.";
  const body = { status: 200, message, outcome: "skipped", reason: mismatch };
  return { work: createEmptyWork(200, body), mismatch };
}

function refuseMapping({ name, verifier }: Mapping): PorticoError {
  return verifier ? errors.signatureRequired({ name }, CHALLENGE) : errors.mappingNotAllowed();
}

/** Returns the request with the body as one mapping reads it. */
function withVariant({ name }: Mapping, request: Request): Request {
  const { variants } = request;
  return variants?.has(name) ? { ...request, body: variants.get(name) } : request;
}

async function readFor({ config, verifier }: Mapping, source: BodySource): Promise<Reading> {
  const body = await readBody(source, config.body);
  const isForm = /urlencoded|form-data/i.test(source.type ?? "") || config.body === "form";
  return { body: isForm && verifier?.scheme === "github" ? unwrapPayload(body) : body };
}

/**
 * Parses a body for all mappings: by its content type, and again for each mapping that names a format or a scheme. A mapping
 * that cannot parse it does not match. Throws the error of the content type if no mapping can parse the body either.
 */
async function readForRoot(mappings: readonly Mapping[], source: BodySource): Promise<Reading> {
  const variants = new Map<string, unknown>();
  for (const mapping of mappings) {
    if (mapping.config.body === undefined && mapping.verifier === undefined) continue;
    try {
      variants.set(mapping.name, (await readFor(mapping, source)).body);
    } catch (error) {
      if (!isPorticoError(error)) throw error;
      variants.set(mapping.name, undefined);
    }
  }
  try {
    return { body: await readBody(source), variants };
  } catch (error) {
    if ([...variants.values()].every((body) => body === undefined)) throw error;
    return { body: undefined, variants };
  }
}

/** Returns whether this is the signed request by which Slack verifies the address. */
function isChallenge({ verifier }: Mapping, body: unknown): boolean {
  const { type, challenge } = (body ?? {}) as { type?: unknown; challenge?: unknown };
  return (
    verifier?.scheme === "slack" && type === "url_verification" && typeof challenge === "string"
  );
}
