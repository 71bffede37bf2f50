/** The configuration, read once at each change. Errors name the key that is wrong. */
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

/** What a caller of `agent` names. */
interface Named {
  session?: string | undefined;
  model?: string | undefined;
  delivery?: unknown;
}

/** A token, or a mapping's signature: whose limit it counts against, and what it may call. */
export interface Credential {
  /** `token`, `key:<name>`, `mapping:<name>` */
  name: string;
  /** On whose behalf it wakes and starts turns. What a mapping starts belongs to the mapping, not to its caller. */
  principal: Principal;
  limit: RateLimit;
  allows(path: string): boolean;
  /** Throws `forbidden` for a session, model or delivery that it may not name. */
  checkNames(named: Named): void;
  /** What begins the names of its own sessions: a turn for which it names none lies there too, and can be gone on with. */
  ownSessions?: string | undefined;
}

export interface Mapping {
  name: string;
  config: MappingConfig;
  /** Absent: it is only reached by its name. */
  match?: Matcher | undefined;
  message?: Template | undefined;
  session?: Template | undefined;
  verifier?: Verifier | undefined;
  /** Of `verifier`. */
  credential: Credential;
  burst?: { key: Template; windowMs: number; maxWaitMs: number } | undefined;
  respond?: Respond | undefined;
}

export interface Settings {
  enabled: boolean;
  /** Without a slash at its end. */
  prefix: string;
  config: WebhooksConfig;
  tokens: readonly { secret: Secret; credential: Credential }[];
  /** Absent: everybody may call. */
  allowedIps?: Networks | undefined;
  /** In the order of the configuration. */
  mappings: ReadonlyMap<string, Mapping>;
  /** Mappings that are wrong, with what is wrong: those that the gateway started with. */
  broken: ReadonlyMap<string, string>;
  /** To be masked where they turn up; longer ones first. */
  secrets: readonly string[];
  warning?: string | undefined;
}

const RESERVED = new Set(["wake", "agent", "events", "turns"]);

interface Judges {
  /** Whether a wrong mapping is no news: it only takes itself out. */
  isKnown(name: string, mapping: MappingConfig): boolean;
  /** One that was caught judges changes, not what runs already. */
  caught?: (mapping: string) => Promise<Request | undefined>;
  before?: ReadonlyMap<string, Mapping>;
}

/** Throws `invalid_request_error` about the first thing that a schema cannot say. */
export async function readSettings(config: WebhooksConfig, judges: Judges): Promise<Settings> {
  const prefix = config.path.replace(/\/$/, "");
  const tokens = readTokens(config, prefix);
  const { mappings, broken } = await readMappings(config, judges);
  const verified = [...mappings.values()].flatMap(({ verifier }) => verifier ?? []);
  const hasCredentials = tokens.length > 0 || verified.length > 0;
  const enabled = config.enabled ?? hasCredentials;
  const secrets = [
    ...(config.token === undefined ? [] : [config.token]),
    ...Object.values(config.keys).map(({ token }) => token),
    ...verified.flatMap((verifier) => verifier.secrets),
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

/** The owner's token and those of the named keys. Throws where two are the same. */
function readTokens(config: WebhooksConfig, prefix: string): Settings["tokens"] {
  const everything = () => true;
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
      allows: everything,
      checkNames: () => {},
    });
  for (const [name, key] of Object.entries(config.keys)) {
    const principal = principalNamed("webhook", name);
    add(key.token, {
      name: `key:${name}`,
      principal,
      limit: key.rateLimit ?? config.rateLimit,
      allows: key.paths ? allowing(key.paths, prefix) : everything,
      checkNames: namesOf(name, key),
      ownSessions: key.sessions === undefined ? `${principal}:` : undefined,
    });
  }
  return tokens;
}

/** The enabled mappings. One that is wrong throws, unless the gateway knows it already: then it only takes itself out. */
async function readMappings(
  config: WebhooksConfig,
  { isKnown, caught, before }: Judges,
): Promise<Pick<Settings, "mappings" | "broken">> {
  const mappings = new Map<string, Mapping>();
  const broken = new Map<string, string>();
  for (const [name, mapping] of Object.entries(config.mappings)) {
    if (mapping.enabled === false) continue;
    try {
      const { sample } = mapping;
      const judge = sample
        ? { sample: sampleOf(sample) }
        : { sample: await caught?.(name), before: before?.get(name)?.config };
      mappings.set(name, await readMapping(name, mapping, config.rateLimit, judge));
    } catch (error) {
      if (!isKnown(name, mapping)) throw error;
      broken.set(name, (error as Error).message);
    }
  }
  return { mappings, broken };
}

/** `before`: the mapping as it was, whose templates have been judged already. */
export async function readMapping(
  name: string,
  config: MappingConfig,
  limit: RateLimit,
  { sample, before }: { sample?: Request | undefined; before?: MappingConfig | undefined } = {},
): Promise<Mapping> {
  const key = `webhooks.mappings.${name}`;
  checkMapping(name, config, key);
  const template = (
    text: string | undefined,
    at: string,
    known: string | undefined,
  ): Template | undefined => {
    if (text === undefined) return undefined;
    const parsed = readTemplate(text, `${key}.${at}`);
    // What a transform makes of the sample is not known.
    if (sample && config.transform === undefined && text !== known)
      checkAgainst(parsed, sample, `${key}.${at}`);
    return parsed;
  };
  const burstKey = template(config.coalesce?.key, "coalesce.key", before?.coalesce?.key);
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
    message: template(config.message, "message", before?.message),
    session: template(config.session, "session", before?.session),
    verifier: config.verify && createVerifier(config.verify, `${key}.verify`),
    burst: config.coalesce && burstKey && { ...config.coalesce, key: burstKey },
    respond: config.respond && readRespond(config.respond, `${key}.respond`),
  };
}

/** Absolute, on a drive of its own, or leading upwards. */
const OUTSIDE_PATH = /^[/\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)|\0/;

function checkMapping(name: string, config: MappingConfig, key: string): void {
  if (RESERVED.has(name))
    throw errors.reservedName({ key, reserved: [...RESERVED].join(", ") }, { param: key });
  if (!/^[\w.~-]+$/.test(name)) throw errors.badName(...at(key));
  if (config.transform !== undefined && OUTSIDE_PATH.test(config.transform))
    throw errors.transformOutside(...at(`${key}.transform`));
  if (config.wait && (config.action === "wake" || config.coalesce))
    throw errors.waitWithoutTurn(...at(`${key}.wait`));
  if (typeof config.delivery !== "object") return;
  checkTarget(config.delivery, `${key}.delivery`);
  for (const placeholder of eventPlaceholders(config.delivery))
    readTemplate(placeholder, `${key}.delivery`);
}

const at = (key: string) => [{ key }, { param: key }] as const;

export function sampleOf({ body, headers = {}, query = {} }: SampleConfig): Request {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { body, headers: Object.fromEntries(lower), query };
}

/** Patterns of the sessions that a key may name: by default those under its own name. */
function sessionsOfKey(name: string, { sessions }: KeyConfig): readonly string[] {
  return sessions ?? [`${principalNamed("webhook", name)}:*`];
}

/** The sessions of all keys: no payload may lead a mapping's turn into one. */
export function keySessionsOf({ config }: Settings): readonly string[] {
  return Object.entries(config.keys).flatMap(([name, key]) => sessionsOfKey(name, key));
}

/** What a key may name: by default sessions of its own, and any model. */
function namesOf(name: string, key: KeyConfig): Credential["checkNames"] {
  const sessions = sessionsOfKey(name, key);
  const { models } = key;
  const refuse = (kind: string, allowed: readonly string[]) =>
    errors.nameNotAllowed({ kind, allowed: allowed.join(", ") || "none" }, { param: kind });
  return ({ session, model, delivery }) => {
    const fits = (patterns: readonly string[], text: string) =>
      patterns.some((pattern) => fitsPattern(pattern, text));
    if (session !== undefined && !fits(sessions, session)) throw refuse("session", sessions);
    if (models && model !== undefined && !fits(models, model)) throw refuse("model", models);
    if (delivery === "announce") throw errors.announceNotAllowed({ param: "delivery" });
  };
}

/** `wake`, `/wake`, `<prefix>/wake`, `ci-*`, `/`. */
function allowing(paths: readonly string[], prefix: string): (path: string) => boolean {
  const rules = paths.map((path) => {
    const below =
      path === prefix || path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
    return below.replace(/^\/+/, "");
  });
  return (path) => rules.some((rule) => fitsPattern(rule, path));
}

/** What the entries of a name grant: a key and a mapping may share one. */
export function grantsOf({ config }: Settings, name: string): Grant[] {
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
