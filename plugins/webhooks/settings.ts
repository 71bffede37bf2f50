/** The configuration, read once at each change: what is wrong with it is said then, with the key's name. */
import {
  type Networks,
  parseNetworks,
  PorticoError,
  type Principal,
  principalNamed,
  type Secret,
  secretOf,
} from "portico";
import { fitsPattern } from "portico/strings";
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
  /** On whose behalf it wakes and starts turns. What a mapping makes is the mapping's, whoever called it. */
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
export async function readSettings(
  config: WebhooksConfig,
  { isKnown, caught, before }: Judges,
): Promise<Settings> {
  const prefix = config.path.replace(/\/$/, "");
  const everything = () => true;
  const tokens: { secret: Secret; credential: Credential }[] = [];
  const addToken = (token: string, credential: Credential): void => {
    if (tokens.some(({ secret }) => secret.equals(token)))
      throw wrong(
        `webhooks.keys.${credential.name.slice(4)}.token`,
        "is another one's token too: each needs its own.",
      );
    tokens.push({ secret: secretOf(token), credential });
  };
  const checkNames = (): void => {};
  if (config.token)
    addToken(config.token, {
      name: "token",
      principal: "owner",
      limit: config.rateLimit,
      allows: everything,
      checkNames,
    });
  for (const [name, key] of Object.entries(config.keys)) {
    const limit = key.rateLimit ?? config.rateLimit;
    const allows = key.paths ? allowing(key.paths, prefix) : everything;
    const principal = principalNamed("webhook", name);
    const ownSessions = key.sessions === undefined ? `${principal}:` : undefined;
    addToken(key.token, {
      name: `key:${name}`,
      principal,
      limit,
      allows,
      checkNames: namesOf(name, key),
      ownSessions,
    });
  }
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
  const verified = [...mappings.values()].flatMap(({ verifier }) => verifier ?? []);
  const hasCredentials = tokens.length > 0 || verified.length > 0;
  const enabled = config.enabled ?? hasCredentials;
  return {
    enabled,
    prefix,
    config,
    tokens,
    allowedIps: config.allowedIps.length > 0 ? parseNetworks(config.allowedIps) : undefined,
    mappings,
    broken,
    secrets: [
      config.token ?? [],
      ...Object.values(config.keys).map(({ token }) => token),
      ...verified.flatMap(({ secrets }) => secrets),
    ]
      .flat()
      .sort((one, other) => other.length - one.length),
    warning:
      enabled && !hasCredentials
        ? "webhooks.enabled is true, but nobody can call: set webhooks.token, webhooks.keys, or verify on a mapping"
        : undefined,
  };
}

export async function readMapping(
  name: string,
  config: MappingConfig,
  limit: RateLimit,
  { sample, before }: { sample?: Request | undefined; before?: MappingConfig | undefined } = {},
): Promise<Mapping> {
  const key = `webhooks.mappings.${name}`;
  if (RESERVED.has(name))
    throw wrong(key, `cannot be a mapping's name: ${[...RESERVED].join(", ")} are taken.`);
  if (!/^[\w.~-]+$/.test(name))
    throw wrong(key, "is part of an address: use letters, digits, . _ ~ and - only.");
  if (
    config.transform !== undefined &&
    /^[/\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)|\0/.test(config.transform)
  )
    throw wrong(`${key}.transform`, "must be a path below <home>/transforms.");
  if (config.wait && (config.action === "wake" || config.coalesce))
    throw wrong(
      `${key}.wait`,
      "is for mappings that start a turn of their own: not with action wake, nor with coalesce.",
    );
  if (typeof config.delivery === "object") {
    checkTarget(config.delivery, `${key}.delivery`);
    for (const placeholder of eventPlaceholders(config.delivery))
      readTemplate(placeholder, `${key}.delivery`);
  }
  const template = (
    text: string | undefined,
    at: string,
    known: string | undefined,
  ): Template | undefined => {
    if (text === undefined) return undefined;
    const read = readTemplate(text, `${key}.${at}`);
    // what a transform makes of it is not known
    if (sample && config.transform === undefined && text !== known)
      checkAgainst(read, sample, `${key}.${at}`);
    return read;
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
  const refuse = (what: string, allowed: readonly string[]) =>
    new PorticoError(
      "forbidden",
      `This key may not name that ${what}. It may name ${allowed.join(", ") || "none"}.`,
      {
        param: what,
      },
    );
  return ({ session, model, delivery }) => {
    const fits = (patterns: readonly string[], text: string) =>
      patterns.some((one) => fitsPattern(one, text));
    if (session !== undefined && !fits(sessions, session)) throw refuse("session", sessions);
    if (models && model !== undefined && !fits(models, model)) throw refuse("model", models);
    if (delivery === "announce")
      throw new PorticoError(
        "forbidden",
        "This key may not post to the main session: a mapping with delivery announce may, and webhooks.token.",
        { param: "delivery" },
      );
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

function wrong(key: string, why: string): PorticoError {
  return new PorticoError("invalid_request_error", `${key} ${why}`, { param: key });
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
