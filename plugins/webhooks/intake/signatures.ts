/**
 * Senders' signatures over the raw body.
 *
 * Sources: the senders' pages on securing webhooks (GitHub, GitLab, Stripe, Slack, Linear, Shopify) and the Standard
 * Webhooks specification. Every comparison is in constant time; each of several secrets is tried.
 */
import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from "node:crypto";
import { secretOf } from "portico";
import { errors } from "../errors.ts";
import type { HmacConfig, VerifyConfig } from "../schema.ts";
import { secretsOf, weakness } from "./weakness.ts";

export interface Signed {
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** Milliseconds since 1970. */
  now: number;
}

export interface Verifier {
  scheme: string;
  secrets: readonly string[];
  /** What is wrong with the request in one sentence; `undefined` for a good one. */
  problem(signed: Signed): string | undefined;
  /** An id of the delivery that its signature covers (a replay cannot change it). */
  signedId?: ((signed: Signed, body: () => unknown) => string | undefined) | undefined;
  /** Headers with the sender's own id of the delivery. */
  idHeaders: readonly string[];
}

type Check = (signed: Signed, secret: string) => string | undefined;

interface Scheme {
  check: Check;
  idHeaders?: readonly string[];
  signedId?: Verifier["signedId"];
}

const TOLERANCE_MS = 300_000;
const LINEAR_TOLERANCE_MS = 60_000;
/** More than a sender changes keys for; each costs a look at the whole body. */
const MOST_SIGNATURES = 10;

const MISSING = "The signature is missing.";
const WRONG = "The signature does not match the body.";
const LATE = "The time of the signature is too far from now: the delivery is late or a repetition.";

const schemes: Record<string, Scheme> = {
  github: {
    check: byHmac({ header: "x-hub-signature-256", prefix: "sha256=" }),
    idHeaders: ["x-github-delivery"],
  },
  gitlab: {
    // a signing token has a form of its own; anything else is the older secret token, sent as it is
    check: (signed, secret) =>
      secret.startsWith("whsec_")
        ? standard(signed, secret)
        : sameText(signed.headers["x-gitlab-token"], secret),
    idHeaders: ["idempotency-key", "x-gitlab-event-uuid"],
    signedId: (signed) =>
      signed.headers["webhook-signature"] ? signed.headers["webhook-id"] : undefined,
  },
  stripe: { check: stripe, signedId: (_signed, body) => textField(body(), "id") },
  slack: { check: slack, signedId: (_signed, body) => textField(body(), "event_id") },
  linear: { check: linear, idHeaders: ["linear-delivery"] },
  shopify: {
    check: byHmac({ header: "x-shopify-hmac-sha256", encoding: "base64" }),
    idHeaders: ["x-shopify-event-id", "x-shopify-webhook-id"],
  },
  standard: {
    check: standard,
    signedId: ({ headers }) => headers["webhook-id"] ?? headers["svix-id"],
  },
};

/** Throws `invalid_request_error` for settings that name no scheme or no secret. */
export function createVerifier(config: VerifyConfig, key: string): Verifier {
  const named = typeof config.scheme === "string" ? config.scheme : undefined;
  const hmac = config.hmac ?? (typeof config.scheme === "object" ? config.scheme.hmac : undefined);
  const hmacKey = config.hmac === undefined ? `${key}.scheme.hmac` : `${key}.hmac`;
  const refuse = (at: string, why: string) =>
    errors.badSigning({ key: at, problem: why }, { param: at });
  if ((named === undefined) === (hmac === undefined))
    throw refuse(
      `${key}.scheme`,
      `must be one of ${Object.keys(schemes).join(", ")}, or {hmac: {header, …}}.`,
    );
  const secrets = secretsOf(config);
  const at =
    config.secret === undefined && hmac?.secret !== undefined
      ? `${hmacKey}.secret`
      : `${key}.secret`;
  if (secrets.length === 0)
    throw refuse(at, "is missing. It is the secret that the sender signs with.");
  for (const secret of secrets) {
    const problem = weakness(secret, named);
    if (problem) throw refuse(at, problem);
  }
  const {
    check,
    idHeaders = [],
    signedId,
  } = hmac ? ({ check: byHmac(hmac) } as Scheme) : (schemes[named ?? ""] as Scheme);
  return {
    scheme: named ?? `hmac ${hmac?.header}`,
    secrets,
    problem(signed) {
      // all of them are tried, so that the time does not tell which one fits
      const problems = secrets.map((secret) => check(signed, secret));
      return problems.includes(undefined) ? undefined : problems[0];
    },
    idHeaders,
    signedId,
  };
}

function byHmac(config: Partial<HmacConfig> & { header: string }): Check {
  const { header, algorithm = "sha256", encoding = "hex", prefix = "" } = config;
  return ({ headers, body }, secret) => {
    const signature = headers[header.toLowerCase()];
    if (signature === undefined) return MISSING;
    if (!signature.startsWith(prefix)) return WRONG;
    const digest = createHmac(algorithm, secret).update(body).digest();
    return sameBytes(signature.slice(prefix.length), encoding, digest) ? undefined : WRONG;
  };
}

function sameText(token: string | undefined, secret: string): string | undefined {
  if (token === undefined) return MISSING;
  return secretOf(secret).equals(token) ? undefined : "The secret token is wrong.";
}

function stripe({ headers, body, now }: Signed, secret: string): string | undefined {
  const header = headers["stripe-signature"];
  if (header === undefined) return MISSING;
  const parts = header
    .split(",")
    .map((part) => part.trim().split("=") as [string, string | undefined]);
  const time = parts.find(([name]) => name === "t")?.[1];
  if (time === undefined) return WRONG;
  const digest = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
  const fits =
    parts.filter(([name, value]) => name === "v1" && sameBytes(value ?? "", "hex", digest)).length >
    0;
  return fits ? lateness(time, now) : WRONG;
}

function slack({ headers, body, now }: Signed, secret: string): string | undefined {
  const signature = headers["x-slack-signature"];
  const time = headers["x-slack-request-timestamp"];
  if (signature === undefined || time === undefined) return MISSING;
  if (!signature.startsWith("v0=")) return WRONG;
  const digest = createHmac("sha256", secret).update(`v0:${time}:`).update(body).digest();
  return sameBytes(signature.slice(3), "hex", digest) ? lateness(time, now) : WRONG;
}

/** The signed body contains the time. */
function linear(signed: Signed, secret: string): string | undefined {
  const problem = byHmac({ header: "linear-signature" })(signed, secret);
  if (problem !== undefined) return problem;
  let time: unknown;
  try {
    time = (JSON.parse(signed.body.toString("utf8")) as { webhookTimestamp?: unknown } | null)
      ?.webhookTimestamp;
  } catch {
    return undefined; // refused as JSON later
  }
  return typeof time === "number" && Math.abs(signed.now - time) > LINEAR_TOLERANCE_MS
    ? LATE
    : undefined;
}

/** Standard Webhooks: `v1` is an HMAC (`whsec_…`), `v1a` an Ed25519 signature (`whpk_…`); a header may hold several. */
function standard({ headers, body, now }: Signed, secret: string): string | undefined {
  const [id, time, signature] = ["id", "timestamp", "signature"].map(
    (name) => headers[`webhook-${name}`] ?? headers[`svix-${name}`],
  );
  if (id === undefined || time === undefined || signature === undefined) return MISSING;
  const content = Buffer.concat([Buffer.from(`${id}.${time}.`), body]);
  const asymmetric = secret.startsWith("whpk_");
  const version = asymmetric ? "v1a," : "v1,";
  const candidates = signature
    .split(" ", MOST_SIGNATURES)
    .filter((candidate) => candidate.startsWith(version));
  const digest = createHmac("sha256", standardKey(secret)).update(content).digest();
  const fits = candidates.filter((candidate) => {
    const value = candidate.slice(version.length);
    return asymmetric ? isEd25519(content, value, secret) : sameBytes(value, "base64", digest);
  });
  return fits.length > 0 ? lateness(time, now) : WRONG;
}

function standardKey(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ""), "base64");
}

const ED25519_HEAD = Buffer.from("302a300506032b6570032100", "hex");

function isEd25519(content: Buffer, signature: string, secret: string): boolean {
  let publicKey: KeyObject;
  try {
    const raw = Buffer.from(secret.slice("whpk_".length), "base64");
    publicKey = createPublicKey({
      key: Buffer.concat([ED25519_HEAD, raw]),
      format: "der",
      type: "spki",
    });
  } catch {
    return false;
  }
  return verify(null, content, publicKey, Buffer.from(signature, "base64"));
}

/** Times are in whole seconds. */
function lateness(time: string, now: number): string | undefined {
  const at = /^\d{1,12}$/.test(time) ? Number(time) * 1000 : Number.NaN;
  return Math.abs(now - at) <= TOLERANCE_MS ? undefined : LATE;
}

const FORMS = { hex: /^[0-9a-f]*$/i, base64: /^[A-Za-z0-9+/_-]*={0,2}$/ };

function sameBytes(signature: string, encoding: "hex" | "base64", digest: Buffer): boolean {
  // Buffer.from takes whatever precedes the first wrong character
  if (!FORMS[encoding].test(signature)) return false;
  const bytes = Buffer.from(signature, encoding);
  return bytes.length === digest.length && timingSafeEqual(bytes, digest);
}

function textField(body: unknown, name: string): string | undefined {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, name)) return undefined;
  const value = (body as Record<string, unknown>)[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
