/** The settings, parsed from the configuration at each change. Errors name the invalid key. */
import {
  type Networks,
  parseNetworks,
  type Principal,
  principalNamed,
  type Secret,
  secretOf,
} from "portico";
import { fitsPattern } from "portico/strings";
import { errors } from "./errors.ts";
import { type Matcher, readMatch } from "./mappings/match.ts";
import type { KeyConfig, MappingConfig, SampleConfig, WebhooksConfig } from "./schema.ts";
import { createVerifier, type Verifier } from "./intake/signatures.ts";
import type { Grant } from "portico/agent";
import { checkTarget, eventPlaceholders } from "portico/deliveries";
import type { Request } from "./mappings/paths.ts";
import { readRespond, type Respond } from "./mappings/respond.ts";
import { checkAgainst, readTemplate, type Template } from "./mappings/template.ts";

interface RateLimit {
  maxRequests: number;
  windowMs: number;
}

/** The names in a request to `agent`. */
interface RequestedNames {
  session?: string | undefined;
  model?: string | undefined;
  delivery?: unknown;
}

/** A token or a mapping's signature, with its rate limit and its rights. */
export interface Credential {
  /** `token`, `key:<name>` or `mapping:<name>`. */
  name: string;
  /** The principal of its events and turns. What a mapping starts belongs to the mapping, not to its caller. */
  principal: Principal;
  limit: RateLimit;
  allows(path: string): boolean;
  /** Throws `forbidden` for a session, model or delivery that it may not name. */
  checkNames(names: RequestedNames): void;
  /** The prefix of its own sessions. A turn without a session gets one with this prefix, so that the caller can continue it. */
  ownSessions?: string | undefined;
}

export interface Mapping {
  name: string;
  config: MappingConfig;
  /** If absent, only its name reaches the mapping. */
  match?: Matcher | undefined;
  message?: Template | undefined;
  session?: Template | undefined;
  verifier?: Verifier | undefined;
  /** The credential of a request with a valid signature. */
  credential: Credential;
  burst?: { key: Template; windowMs: number; maxWaitMs: number } | undefined;
  respond?: Respond | undefined;
}

export interface Settings {
  enabled: boolean;
  /** The prefix of all paths, without a trailing slash. */
  prefix: string;
  config: WebhooksConfig;
  tokens: readonly { secret: Secret; credential: Credential }[];
  /** The networks that may call; if absent, all may. */
  allowedIps?: Networks | undefined;
  /** The mappings by name, in the order of the configuration. */
  mappings: ReadonlyMap<string, Mapping>;
  /** The problems of invalid mappings by name. Only mappings with which the gateway started can be invalid. */
  broken: ReadonlyMap<string, string>;
  /** The secrets to mask, longest first. */
  secrets: readonly string[];
  warning?: string | undefined;
}

const RESERVED = new Set(["wake", "agent", "events", "turns"]);

interface ReadOptions {
  /** Returns whether an invalid mapping was already invalid at the start. Such a mapping is disabled, and the rest applies. */
  isKnown(name: string, mapping: MappingConfig): boolean;
  /** Returns the caught sample of a mapping. Only changed templates are checked against it. */
  caughtSample?: (mapping: string) => Promise<Request | undefined>;
  previousMappings?: ReadonlyMap<string, Mapping>;
}

/** Parses the configuration. Throws `invalid_request_error` for the first error that a schema cannot express. */
export async function readSettings(
  config: WebhooksConfig,
  options: ReadOptions,
): Promise<Settings> {
  const prefix = config.path.replace(/\/$/, "");
  const tokens = readTokens(config, prefix);
  const { mappings, broken } = await readMappings(config, options);
  const verifiers = [...mappings.values()].flatMap(({ verifier }) => verifier ?? []);
  const hasCredentials = tokens.length > 0 || verifiers.length > 0;
  const enabled = config.enabled ?? hasCredentials;
  const secrets = [
    ...(config.token === undefined ? [] : [config.token]),
    ...Object.values(config.keys).map(({ token }) => token),
    ...verifiers.flatMap((verifier) => verifier.secrets),
  ];
  return {
    enabled,
    prefix,
    config,
    tokens,
    allowedIps: config.allowedIps.length > 0 ? parseNetworks(config.allowedIps) : undefined,
    mappings,
    broken,
    secrets: secrets.sort((first, second) => second.length - first.length),
    warning: enabled && !hasCredentials ? NO_CREDENTIALS : undefined,
  };
}

const NO_CREDENTIALS =
  "webhooks.enabled is true, but no caller has credentials: set webhooks.token, webhooks.keys, or verify on a mapping";

/** Returns the owner's token and those of the named keys. Throws `invalid_request_error` if two are the same. */
function readTokens(config: WebhooksConfig, prefix: string): Settings["tokens"] {
  const allowAll = () => true;
  const tokens: { secret: Secret; credential: Credential }[] = [];
  const add = (token: string, credential: Credential): void => {
    const key = `webhooks.keys.${credential.name.slice("key:".length)}.token`;
    if (tokens.some(({ secret }) => secret.equals(token)))
      throw errors.tokenNotUnique({ key }, { param: key });
    tokens.push({ secret: secretOf(token), credential });
  };
  if (config.token)
    add(config.token, {
      name: "token",
      principal: "owner",
      limit: config.rateLimit,
      allows: allowAll,
      checkNames: () => {},
    });
  for (const [name, key] of Object.entries(config.keys)) {
    const principal = principalNamed("webhook", name);
    add(key.token, {
      name: `key:${name}`,
      principal,
      limit: key.rateLimit ?? config.rateLimit,
      allows: key.paths ? createPathCheck(key.paths, prefix) : allowAll,
      checkNames: createNameCheck(name, key),
      ownSessions: key.sessions === undefined ? `${principal}:` : undefined,
    });
  }
  return tokens;
}

/** Parses the enabled mappings. Throws for an invalid one, unless it was already invalid: then it is only disabled. */
async function readMappings(
  config: WebhooksConfig,
  { isKnown, caughtSample, previousMappings }: ReadOptions,
): Promise<Pick<Settings, "mappings" | "broken">> {
  const mappings = new Map<string, Mapping>();
  const broken = new Map<string, string>();
  for (const [name, mapping] of Object.entries(config.mappings)) {
    if (mapping.enabled === false) continue;
    try {
      const { sample } = mapping;
      const check = sample
        ? { sample: toRequest(sample) }
        : {
            sample: await caughtSample?.(name),
            previousConfig: previousMappings?.get(name)?.config,
          };
      mappings.set(name, await readMapping(name, mapping, config.rateLimit, check));
    } catch (error) {
      if (!isKnown(name, mapping)) throw error;
      broken.set(name, (error as Error).message);
    }
  }
  return { mappings, broken };
}

/** Parses a mapping. Templates that are the same as in `previousConfig` are not checked against the sample again. */
export async function readMapping(
  name: string,
  config: MappingConfig,
  limit: RateLimit,
  {
    sample,
    previousConfig: previous,
  }: { sample?: Request | undefined; previousConfig?: MappingConfig | undefined } = {},
): Promise<Mapping> {
  const key = `webhooks.mappings.${name}`;
  checkMapping(name, config, key);
  const template = (
    text: string | undefined,
    at: string,
    previousText: string | undefined,
  ): Template | undefined => {
    if (text === undefined) return undefined;
    const parsed = readTemplate(text, `${key}.${at}`);
    // With a transform, the body that the template gets is unknown.
    if (sample && config.transform === undefined && text !== previousText)
      checkAgainst(parsed, sample, `${key}.${at}`);
    return parsed;
  };
  const burstKey = template(config.coalesce?.key, "coalesce.key", previous?.coalesce?.key);
  return {
    name,
    config,
    credential: {
      name: `mapping:${name}`,
      principal: principalNamed("webhook", name),
      limit,
      allows: () => true,
      checkNames: () => {},
    },
    match: config.match && (await readMatch(config.match, `${key}.match`)),
    message: template(config.message, "message", previous?.message),
    session: template(config.session, "session", previous?.session),
    verifier: config.verify && createVerifier(config.verify, `${key}.verify`),
    burst: config.coalesce && burstKey && { ...config.coalesce, key: burstKey },
    respond: config.respond && readRespond(config.respond, `${key}.respond`),
  };
}

/** A path that is absolute, names a drive, or leads upwards. */
const OUTSIDE_PATH = /^[/\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)|\0/;

function checkMapping(name: string, config: MappingConfig, key: string): void {
  if (RESERVED.has(name))
    throw errors.reservedName({ key, reserved: [...RESERVED].join(", ") }, { param: key });
  if (!/^[\w.~-]+$/.test(name)) throw errors.badName(...keyAndParam(key));
  if (config.transform !== undefined && OUTSIDE_PATH.test(config.transform))
    throw errors.transformOutside(...keyAndParam(`${key}.transform`));
  if (config.wait && (config.action === "wake" || config.coalesce))
    throw errors.waitWithoutTurn(...keyAndParam(`${key}.wait`));
  if (typeof config.delivery !== "object") return;
  checkTarget(config.delivery, `${key}.delivery`);
  for (const placeholder of eventPlaceholders(config.delivery))
    readTemplate(placeholder, `${key}.delivery`);
}

const keyAndParam = (key: string) => [{ key }, { param: key }] as const;

export function toRequest({ body, headers = {}, query = {} }: SampleConfig): Request {
  const lowerCaseHeaders = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    value,
  ]);
  return { body, headers: Object.fromEntries(lowerCaseHeaders), query };
}

/** Returns the patterns of the sessions that a key may name. By default, these begin with its own name. */
function listSessionsOfKey(name: string, { sessions }: KeyConfig): readonly string[] {
  return sessions ?? [`${principalNamed("webhook", name)}:*`];
}

/** Returns the session patterns of all keys. No payload may make a mapping's turn join such a session. */
export function listKeySessions({ config }: Settings): readonly string[] {
  return Object.entries(config.keys).flatMap(([name, key]) => listSessionsOfKey(name, key));
}

/** Creates the check of the names that a key may use: by default sessions of its own, and any model. */
function createNameCheck(name: string, key: KeyConfig): Credential["checkNames"] {
  const sessions = listSessionsOfKey(name, key);
  const { models } = key;
  const refuse = (kind: string, allowed: readonly string[]) =>
    errors.nameNotAllowed({ kind, allowed: allowed.join(", ") || "none" }, { param: kind });
  return ({ session, model, delivery }) => {
    const matchesAny = (patterns: readonly string[], text: string) =>
      patterns.some((pattern) => fitsPattern(pattern, text));
    if (session !== undefined && !matchesAny(sessions, session)) throw refuse("session", sessions);
    if (models && model !== undefined && !matchesAny(models, model)) throw refuse("model", models);
    if (delivery === "announce") throw errors.announceNotAllowed({ param: "delivery" });
  };
}

/** Creates the check of the paths of a key: `wake`, `/wake`, `<prefix>/wake`, `ci-*` or `/`. */
function createPathCheck(paths: readonly string[], prefix: string): (path: string) => boolean {
  const rules = paths.map((path) => {
    const subpath =
      path === prefix || path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
    return subpath.replace(/^\/+/, "");
  });
  return (path) => rules.some((rule) => fitsPattern(rule, path));
}

/** Returns the grants of a name, which a key and a mapping may share. */
export function findGrants({ config }: Settings, name: string): Grant[] {
  const grants: Grant[] = [];
  const key = Object.hasOwn(config.keys, name) ? config.keys[name] : undefined;
  if (key) grants.push({ tools: key.tools, sessions: key.sessions });
  const mapping = Object.hasOwn(config.mappings, name) ? config.mappings[name] : undefined;
  if (mapping) {
    const { tools, session, delivery, transform } = mapping;
    grants.push({
      tools,
      sessions: session === undefined || session.includes("{") ? [] : [session],
      announce: delivery === "announce" || transform !== undefined,
    });
  }
  return grants;
}
