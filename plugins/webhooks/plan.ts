/** From a path and a body to what is to be done: which endpoint or mapping, and the job it makes. */
import {
  type Call,
  checkJsonType,
  compile,
  exactJson,
  parseJson,
  type PluginContext,
  PorticoError,
} from "portico";
import type { AgentService } from "portico/agent";
import { readContent } from "./bodies/read.ts";
import { agentJob, emptyJob, type Job, mappingJob, wakeJob } from "./jobs.ts";
import type { Request } from "./mappings/paths.ts";
import { type Change, readChange, render, type Rendering } from "./mappings/rendering.ts";
import { agentRequest, wakeRequest } from "./schema.ts";
import type { Credential, Mapping, Settings } from "./settings.ts";
import type { Transforms } from "./mappings/transform.ts";

/** `path` is what stands below the prefix; `source` names it in the delivery log. */
export type Target = { path: string; source: string } & (
  | { kind: "wake" | "agent" | "unknown"; mapping?: undefined }
  | { kind: "root"; mapping?: undefined }
  | { kind: "mapping"; mapping: Mapping }
  | { kind: "status"; what: "events" | "turns"; id: string; mapping?: undefined }
);

export interface Plan {
  job: Job;
  /** `wake`, `agent`, or the mapping's name. */
  source: string;
  request: Request;
  /** Placeholders without a value. */
  missing?: readonly string[];
  /** A sender asks whether we are there. */
  challenge?: boolean;
  /** The mapping was called by its name, and its match does not hold. */
  unmatched?: boolean;
  rendering?: Rendering;
}

export interface Planner {
  /** The body, whose bytes are `raw`, as the target takes it. Throws 415, 400. */
  read(target: Target, call: Call, raw: Buffer): unknown;
  /** Throws 400 for what breaks the schema, 404 `no_mapping`, 500 `transform_failed`. Writes nothing. */
  plan(target: Target, request: Request, permission?: Permission): Plan | Promise<Plan>;
}

/** What a caller may start; without one everything. */
interface Permission {
  /** Whose signature fits. */
  mapping?: Mapping | undefined;
  allowed(mapping: Mapping): boolean;
  credential: Pick<Credential, "checkNames" | "ownSessions" | "principal">;
}

/** The owner's, who tries something out. */
const EVERYTHING: Permission = {
  allowed: () => true,
  credential: { principal: "owner", checkNames: () => {} },
};

/**
 * The owner's who starts a delivery again. It acts for the one who sent it, as it did then; where that credential is gone,
 * for nobody.
 */
export function permissionToReplay({ tokens }: Settings, credential: unknown): Permission {
  const known = tokens.find((token) => token.credential.name === credential)?.credential;
  return { allowed: () => true, credential: known ?? NOBODY };
}

const NOBODY: Permission["credential"] = { principal: "outside", checkNames: () => {} };

/** `decodeURIComponent` costs as much as the rest of this, and few paths have anything for it. */
const decoded = (part: string): string => (part.includes("%") ? decodeURIComponent(part) : part);

export function readTarget(path: string, { prefix, mappings }: Settings): Target {
  const begin = path.charAt(prefix.length) === "/" ? prefix.length + 1 : prefix.length;
  const below = path.slice(begin, path.length > begin && path.endsWith("/") ? -1 : undefined);
  // this is asked for each request, and most name one thing
  const [first = "", second, ...rest] = below.includes("/")
    ? below.split("/").map(decoded)
    : [decoded(below)];
  if (second !== undefined && rest.length === 0 && (first === "events" || first === "turns"))
    return { kind: "status", path: below, source: first, what: first, id: second };
  if (second !== undefined) return { kind: "unknown", path: below, source: "unknown" };
  if (first === "") return { kind: "root", path: "", source: "/" };
  if (first === "wake" || first === "agent") return { kind: first, path: first, source: first };
  const mapping = mappings.get(first);
  return mapping
    ? { kind: "mapping", path: first, source: first, mapping }
    : { kind: "unknown", path: below, source: "unknown" };
}

export interface PlannerOptions {
  ctx: PluginContext;
  settings(): Settings;
  transforms: Transforms;
}

export function createPlanner({ ctx, settings, transforms }: PlannerOptions): Planner {
  const wakeCheck = compile(wakeRequest);
  const agentCheck = compile(agentRequest);
  const agent = (): AgentService => ctx.use("agent");

  /** `undefined` where the mapping that is called by its name does not match. */
  function find(
    target: Target,
    request: Request,
    allowed: (mapping: Mapping) => boolean,
  ): Mapping | undefined {
    const candidates =
      target.kind === "mapping"
        ? [target.mapping]
        : [...settings().mappings.values()].filter(({ match }) => match);
    const fitting = candidates.filter(({ match }) => !match || match(request));
    const mapping = fitting.find(allowed);
    if (mapping) return mapping;
    if (fitting[0]?.verifier)
      throw new PorticoError(
        "unauthorized",
        `The mapping ${fitting[0].name} takes signed requests only.`,
        {
          headers: { "www-authenticate": 'Bearer realm="portico webhooks"' },
        },
      );
    if (fitting.length > 0)
      throw new PorticoError(
        "forbidden",
        "This key may not call the mapping that this request is for.",
      );
    if (target.kind === "mapping") return undefined;
    throw new PorticoError("no_mapping", "No mapping matches this request: see webhooks.mappings.");
  }

  async function planMapping(mapping: Mapping, request: Request): Promise<Plan> {
    const source = mapping.name;
    const change = await transformed(mapping, request);
    if (change.skip) return { source, request, job: emptyJob(204) };
    const rendering = render(mapping, request, change);
    const burstKey = mapping.burst?.key.render(
      change.body === undefined ? request : { ...request, body: change.body },
    );
    const missing = [...rendering.missing, ...(burstKey?.missing ?? [])];
    if (missing.length > 0)
      ctx.log.warn({ mapping: source, missing }, "a webhook has no value for a placeholder");
    return {
      source,
      request,
      missing,
      rendering,
      // without any value it is nobody's burst
      job: mappingJob(
        agent(),
        mapping,
        request,
        rendering,
        burstKey?.isBlank ? undefined : burstKey?.text,
      ),
    };
  }

  async function transformed({ name, config }: Mapping, request: Request): Promise<Change> {
    if (config.transform === undefined) return { overrides: {} };
    const input = { ...request, body: exactJson.toPlain(request.body), mapping: name };
    return readChange(
      await transforms.run(config.transform, input, settings().config.transformTimeoutMs),
      name,
    );
  }

  return {
    read(target, call, raw) {
      if (target.kind !== "wake" && target.kind !== "agent") return readContent(call);
      checkJsonType(call.req);
      return parseJson(raw, { limits: call.limits });
    },
    plan(target, request, { mapping: signed = target.mapping, allowed, credential } = EVERYTHING) {
      if (target.kind === "wake")
        return {
          source: "wake",
          request,
          job: wakeJob(agent(), wakeCheck.parse(request.body), credential.principal),
        };
      if (target.kind === "agent") {
        const body = agentCheck.parse(request.body);
        credential.checkNames(body);
        return { source: "agent", request, job: agentJob(agent(), body, credential) };
      }
      const { source } = target;
      if (signed && isChallenge(signed, request.body)) {
        const { challenge } = request.body as { challenge: string };
        return { source, request, job: emptyJob(200, { challenge }), challenge: true };
      }
      const mapping = find(target, request, allowed);
      if (mapping) return planMapping(mapping, request);
      // a sender that is told 404 for what it only sends along switches the webhook off
      const message = "The request does not match what the mapping asks for: nothing was started.";
      return {
        source,
        request,
        job: emptyJob(200, { status: 200, message, outcome: "skipped" }),
        unmatched: true,
      };
    },
  };
}

/** Slack asks once, signed, whether the address is ours. */
function isChallenge({ verifier }: Mapping, body: unknown): boolean {
  const { type, challenge } = (body ?? {}) as { type?: unknown; challenge?: unknown };
  return (
    verifier?.scheme === "slack" && type === "url_verification" && typeof challenge === "string"
  );
}
