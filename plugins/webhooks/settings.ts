/** The configuration, read once at each change: what is wrong with it is said then, with the key's name. */
import { BlockList, isIP } from "node:net";
import { PorticoError } from "portico";
import { type Matcher, readMatch } from "./mappings/match.ts";
import type { MappingConfig, WebhooksConfig } from "./schema.ts";
import { type Secret, secretOf } from "./intake/secret.ts";
import { createVerifier, type Verifier } from "./intake/signatures.ts";
import { readTemplate, type Template } from "./mappings/template.ts";

export interface RateLimit {
  maxRequests: number;
  windowMs: number;
}

/** A token, or a mapping's signature: whose limit it counts against, and what it may call. */
export interface Credential {
  /** `token`, `key:<name>`, `mapping:<name>` */
  name: string;
  limit: RateLimit;
  allows(path: string): boolean;
}

export interface Mapping {
  name: string;
  config: MappingConfig;
  /** Absent: it is only reached by its name. */
  match?: Matcher;
  message?: Template;
  session?: Template;
  verifier?: Verifier;
  /** Of `verifier`. */
  credential: Credential;
  burst?: { key: Template; windowMs: number; maxWaitMs: number };
}

export interface Settings {
  enabled: boolean;
  /** Without a slash at its end. */
  prefix: string;
  config: WebhooksConfig;
  tokens: readonly { secret: Secret; credential: Credential }[];
  /** Absent: everybody may call. */
  allowedIps?: BlockList;
  /** In the order of the configuration. */
  mappings: ReadonlyMap<string, Mapping>;
  /** Mappings that are wrong, with what is wrong. Empty unless the gateway started with them. */
  broken: ReadonlyMap<string, string>;
  /** To be masked wherever they turn up. */
  secrets: readonly string[];
  warning?: string;
}

const RESERVED = new Set(["wake", "agent", "events", "turns"]);

/**
 * Throws `invalid_request_error` about the first thing that a schema cannot say. With `keepGoing` a wrong mapping only
 * takes itself out: at a start there is no older configuration to go on with, and the other senders need an answer.
 */
export async function readSettings(config: WebhooksConfig, keepGoing = false): Promise<Settings> {
  const prefix = config.path.replace(/\/$/, "");
  const everything = () => true;
  const tokens: { secret: Secret; credential: Credential }[] = [];
  const addToken = (token: string, credential: Credential): void => {
    if (tokens.some(({ secret }) => secret.equals(token)))
      throw wrong(`webhooks.keys.${credential.name.slice(4)}.token`, "is another one's token too: each needs its own.");
    tokens.push({ secret: secretOf(token), credential });
  };
  if (config.token) addToken(config.token, { name: "token", limit: config.rateLimit, allows: everything });
  for (const [name, key] of Object.entries(config.keys)) {
    const limit = key.rateLimit ?? config.rateLimit;
    addToken(key.token, { name: `key:${name}`, limit, allows: key.paths ? allowing(key.paths, prefix) : everything });
  }
  const mappings = new Map<string, Mapping>();
  const broken = new Map<string, string>();
  for (const [name, mapping] of Object.entries(config.mappings)) {
    if (mapping.enabled === false) continue;
    try {
      mappings.set(name, await readMapping(name, mapping, config.rateLimit));
    } catch (error) {
      if (!keepGoing) throw error;
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
    ...(config.allowedIps.length > 0 ? { allowedIps: readIps(config.allowedIps) } : {}),
    mappings,
    broken,
    secrets: [
      ...(config.token ? [config.token] : []),
      ...Object.values(config.keys).map(({ token }) => token),
      ...verified.flatMap(({ secrets }) => secrets),
    ],
    ...(enabled && !hasCredentials
      ? {
          warning:
            "webhooks.enabled is true, but nobody can call: set webhooks.token, webhooks.keys, or verify on a mapping",
        }
      : {}),
  };
}

async function readMapping(name: string, config: MappingConfig, limit: RateLimit): Promise<Mapping> {
  const key = `webhooks.mappings.${name}`;
  if (RESERVED.has(name)) throw wrong(key, `cannot be a mapping's name: ${[...RESERVED].join(", ")} are taken.`);
  if (!/^[\w.~-]+$/.test(name)) throw wrong(key, "is part of an address: use letters, digits, . _ ~ and - only.");
  if (config.transform !== undefined && /^[/\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)|\0/.test(config.transform))
    throw wrong(`${key}.transform`, "must be a path below <home>/transforms.");
  return {
    name,
    config,
    credential: { name: `mapping:${name}`, limit, allows: () => true },
    ...(config.match ? { match: await readMatch(config.match, `${key}.match`) } : {}),
    ...(config.message === undefined ? {} : { message: readTemplate(config.message) }),
    ...(config.session === undefined ? {} : { session: readTemplate(config.session) }),
    ...(config.verify ? { verifier: createVerifier(config.verify, `${key}.verify`) } : {}),
    ...(config.coalesce ? { burst: { ...config.coalesce, key: readTemplate(config.coalesce.key) } } : {}),
  };
}

/** `wake`, `/wake`, `<prefix>/wake`, `ci-*`, `/`. */
function allowing(paths: readonly string[], prefix: string): (path: string) => boolean {
  const rules = paths.map((path) => {
    const below = path === prefix || path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
    return below.replace(/^\/+/, "");
  });
  return (path) => rules.some((rule) => (rule.endsWith("*") ? path.startsWith(rule.slice(0, -1)) : path === rule));
}

function readIps(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [ip = "", bits, ...rest] = entry.trim().split("/");
    const family = isIP(ip);
    const width = family === 4 ? 32 : 128;
    const prefix = bits === undefined ? width : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || rest.length > 0 || !(prefix <= width))
      throw wrong(
        "webhooks.allowedIps",
        `holds "${entry}", which is neither an address nor a network such as 10.0.0.0/8.`,
      );
    list.addSubnet(ip, prefix, family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

function wrong(key: string, why: string): PorticoError {
  return new PorticoError("invalid_request_error", `${key} ${why}`, { param: key });
}
