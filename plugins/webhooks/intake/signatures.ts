/**
 * Verifies the signatures of senders over the raw body.
 *
 * Sources: the senders' pages on securing webhooks (GitHub, GitLab, Stripe, Slack, Linear, Shopify) and the Standard
 * Webhooks specification. Every comparison takes constant time, and all secrets are tried.
 */
import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from "node:crypto";
import { secretOf } from "portico";
import { errors } from "../errors.ts";
import type { HmacConfig, VerifyConfig } from "../schema.ts";
import { selectSecrets, findWeakness } from "./weakness.ts";

export interface SignedRequest {
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** The current time in milliseconds since 1970. */
  now: number;
}

export interface Verifier {
  scheme: string;
  secrets: readonly string[];
  /** Returns the problem with the signature in one sentence, or `undefined` for a valid one. */
  problem(signed: SignedRequest): string | undefined;
  /** Returns the id of the delivery that the signature covers, so that a replay cannot change it. */
  signedId?: ((signed: SignedRequest, body: () => unknown) => string | undefined) | undefined;
  /** The headers that may hold the sender's id of the delivery. */
  idHeaders: readonly string[];
}

type Check = (signed: SignedRequest, secret: string) => string | undefined;

interface Scheme {
  check: Check;
  idHeaders?: readonly string[];
  signedId?: Verifier["signedId"];
}

const TOLERANCE_MS = 300_000;
const LINEAR_TOLERANCE_MS = 60_000;
/** The largest number of signatures to check: senders that rotate keys send a few, and each check reads the whole body. */
const MAX_SIGNATURES = 10;

const MISSING = "The signature is missing.";
const WRONG = "The signature does not match the body.";
const LATE =
  "The timestamp of the signature is too far from the current time: the delivery is late, or a replay.";

const schemes: Record<string, Scheme> = {
  github: {
    check: createHmacCheck({ header: "x-hub-signature-256", prefix: "sha256=" }),
    idHeaders: ["x-github-delivery"],
  },
  gitlab: {
    // A signing token begins with whsec_. Anything else is the older secret token, which GitLab sends unchanged.
    check: (signed, secret) =>
      secret.startsWith("whsec_")
        ? checkStandard(signed, secret)
        : checkSecretToken(signed.headers["x-gitlab-token"], secret),
    idHeaders: ["idempotency-key", "x-gitlab-event-uuid"],
    signedId: (signed) =>
      signed.headers["webhook-signature"] ? signed.headers["webhook-id"] : undefined,
  },
  stripe: { check: checkStripe, signedId: (_signed, body) => readTextField(body(), "id") },
  slack: { check: checkSlack, signedId: (_signed, body) => readTextField(body(), "event_id") },
  linear: { check: checkLinear, idHeaders: ["linear-delivery"] },
  shopify: {
    check: createHmacCheck({ header: "x-shopify-hmac-sha256", encoding: "base64" }),
    idHeaders: ["x-shopify-event-id", "x-shopify-webhook-id"],
  },
  standard: {
    check: checkStandard,
    signedId: ({ headers }) => headers["webhook-id"] ?? headers["svix-id"],
  },
};

/** Creates a verifier. Throws `invalid_request_error` for settings without a scheme or with an unusable secret. */
export function createVerifier(config: VerifyConfig, key: string): Verifier {
  const schemeName = typeof config.scheme === "string" ? config.scheme : undefined;
  const hmac = config.hmac ?? (typeof config.scheme === "object" ? config.scheme.hmac : undefined);
  const hmacKey = config.hmac === undefined ? `${key}.scheme.hmac` : `${key}.hmac`;
  const configError = (param: string, problem: string) =>
    errors.badSigning({ key: param, problem }, { param });
  if ((schemeName === undefined) === (hmac === undefined))
    throw configError(
      `${key}.scheme`,
      `must be one of ${Object.keys(schemes).join(", ")}, or {hmac: {header, …}}.`,
    );
  const secrets = selectSecrets(config);
  const secretKey =
    config.secret === undefined && hmac?.secret !== undefined
      ? `${hmacKey}.secret`
      : `${key}.secret`;
  if (secrets.length === 0)
    throw configError(secretKey, "is missing. It is the secret that the sender signs with.");
  for (const secret of secrets) {
    const problem = findWeakness(secret, schemeName);
    if (problem) throw configError(secretKey, problem);
  }
  const {
    check,
    idHeaders = [],
    signedId,
  } = hmac ? ({ check: createHmacCheck(hmac) } as Scheme) : (schemes[schemeName ?? ""] as Scheme);
  return {
    scheme: schemeName ?? `hmac ${hmac?.header}`,
    secrets,
    problem(signed) {
      // This tries all secrets, so that the time does not reveal which one matched.
      const problems = secrets.map((secret) => check(signed, secret));
      return problems.includes(undefined) ? undefined : problems[0];
    },
    idHeaders,
    signedId,
  };
}

function createHmacCheck(config: Partial<HmacConfig> & { header: string }): Check {
  const { header, algorithm = "sha256", encoding = "hex", prefix = "" } = config;
  return ({ headers, body }, secret) => {
    const signature = headers[header.toLowerCase()];
    if (signature === undefined) return MISSING;
    if (!signature.startsWith(prefix)) return WRONG;
    const digest = createHmac(algorithm, secret).update(body).digest();
    return equalsDigest(signature.slice(prefix.length), encoding, digest) ? undefined : WRONG;
  };
}

function checkSecretToken(token: string | undefined, secret: string): string | undefined {
  if (token === undefined) return MISSING;
  return secretOf(secret).equals(token) ? undefined : "The secret token is wrong.";
}

function checkStripe({ headers, body, now }: SignedRequest, secret: string): string | undefined {
  const header = headers["stripe-signature"];
  if (header === undefined) return MISSING;
  const parts = header
    .split(",")
    .map((part) => part.trim().split("=") as [string, string | undefined]);
  const time = parts.find(([name]) => name === "t")?.[1];
  if (time === undefined) return WRONG;
  const digest = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
  const isValid =
    parts.filter(([name, value]) => name === "v1" && equalsDigest(value ?? "", "hex", digest))
      .length > 0;
  return isValid ? checkTime(time, now) : WRONG;
}

function checkSlack({ headers, body, now }: SignedRequest, secret: string): string | undefined {
  const signature = headers["x-slack-signature"];
  const time = headers["x-slack-request-timestamp"];
  if (signature === undefined || time === undefined) return MISSING;
  if (!signature.startsWith("v0=")) return WRONG;
  const digest = createHmac("sha256", secret).update(`v0:${time}:`).update(body).digest();
  return equalsDigest(signature.slice(3), "hex", digest) ? checkTime(time, now) : WRONG;
}

/** Verifies a signature of Linear, whose signed body contains the time. */
function checkLinear(signed: SignedRequest, secret: string): string | undefined {
  const problem = createHmacCheck({ header: "linear-signature" })(signed, secret);
  if (problem !== undefined) return problem;
  let time: unknown;
  try {
    time = (JSON.parse(signed.body.toString("utf8")) as { webhookTimestamp?: unknown } | null)
      ?.webhookTimestamp;
  } catch {
    return undefined; // the body is refused as invalid JSON later
  }
  return typeof time === "number" && Math.abs(signed.now - time) > LINEAR_TOLERANCE_MS
    ? LATE
    : undefined;
}

/** Verifies Standard Webhooks: `v1` is an HMAC (`whsec_…`), `v1a` is Ed25519 (`whpk_…`). A header may hold several. */
function checkStandard({ headers, body, now }: SignedRequest, secret: string): string | undefined {
  const [id, time, signature] = ["id", "timestamp", "signature"].map(
    (name) => headers[`webhook-${name}`] ?? headers[`svix-${name}`],
  );
  if (id === undefined || time === undefined || signature === undefined) return MISSING;
  const content = Buffer.concat([Buffer.from(`${id}.${time}.`), body]);
  const isAsymmetric = secret.startsWith("whpk_");
  const version = isAsymmetric ? "v1a," : "v1,";
  const candidates = signature
    .split(" ", MAX_SIGNATURES)
    .filter((candidate) => candidate.startsWith(version));
  const digest = createHmac("sha256", decodeKey(secret)).update(content).digest();
  const validSignatures = candidates.filter((candidate) => {
    const value = candidate.slice(version.length);
    return isAsymmetric
      ? verifyEd25519(content, value, secret)
      : equalsDigest(value, "base64", digest);
  });
  return validSignatures.length > 0 ? checkTime(time, now) : WRONG;
}

function decodeKey(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ""), "base64");
}

/** The DER encoding of an Ed25519 public key, up to the 32 bytes of the key. */
const ED25519_DER_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

function verifyEd25519(content: Buffer, signature: string, secret: string): boolean {
  let publicKey: KeyObject;
  try {
    const raw = Buffer.from(secret.slice("whpk_".length), "base64");
    publicKey = createPublicKey({
      key: Buffer.concat([ED25519_DER_PREFIX, raw]),
      format: "der",
      type: "spki",
    });
  } catch {
    return false;
  }
  return verify(null, content, publicKey, Buffer.from(signature, "base64"));
}

/** Returns the problem with a time in seconds since 1970, or `undefined` if it is close to `now`. */
function checkTime(time: string, now: number): string | undefined {
  const at = /^\d{1,12}$/.test(time) ? Number(time) * 1000 : Number.NaN;
  return Math.abs(now - at) <= TOLERANCE_MS ? undefined : LATE;
}

const FORMATS = { hex: /^[0-9a-f]*$/i, base64: /^[A-Za-z0-9+/_-]*={0,2}$/ };

function equalsDigest(signature: string, encoding: "hex" | "base64", digest: Buffer): boolean {
  // Buffer.from would silently ignore everything after the first invalid character.
  if (!FORMATS[encoding].test(signature)) return false;
  const bytes = Buffer.from(signature, encoding);
  return bytes.length === digest.length && timingSafeEqual(bytes, digest);
}

function readTextField(body: unknown, name: string): string | undefined {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, name)) return undefined;
  const value = (body as Record<string, unknown>)[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
