/** Fetches access tokens of Vertex AI with a service account's or a user's file, otherwise from the metadata server. */
import { createSign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  createRenewed,
  type Expiring,
  packageReason,
  optionalPackage,
  type Target,
  type WireProvider,
} from "portico/provider";
import { fetchAccessToken, readAccessToken } from "portico/models";
import { createOwnerGuard, guardedFetch } from "portico/egress";
import { AI_STUDIO, isVertex } from "./address.ts";
import { errors } from "./errors.ts";

const PACKAGE = "google-auth-library";
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_URL = "https://oauth2.googleapis.com/token";
const METADATA_PATH = "/computeMetadata/v1/instance/service-accounts/default/token";
const METADATA_TIMEOUT_MS = 3_000;
const METADATA_MAX_BYTES = 64 * 1024;
/** The assumed lifetime of a token of the library, which renews tokens by itself and does not report when they expire. */
const LIBRARY_FRESH_MS = 60_000;

/** The error of a package that cannot be loaded. */
type MissingPackage = (cause: unknown) => Error;

/** The environment and the clock of the process. `library` loads the package for rare types of files. */
export interface Surroundings {
  env: Record<string, string | undefined>;
  now: () => number;
  library?: (missing: MissingPackage) => Promise<GoogleLibrary>;
}

type File = Record<string, unknown>;

/** Creates the credential of channels with a `project` and without a key. Each channel and file has its own token. */
export function createGoogleCredential(
  surroundings: Surroundings,
): NonNullable<WireProvider["credential"]> {
  const { env, now } = surroundings;
  const source = new TokenSource(surroundings);
  const tokens = new Map<string, ReturnType<typeof createRenewed<{ token: string }, Target>>>();

  return (target) => {
    if (
      !isVertex(target) ||
      Object.keys(target.headers).some((name) => CREDENTIAL_HEADER.test(name))
    )
      return undefined;
    const { keyFile } = target.options;
    const path =
      typeof keyFile === "string" ? keyFile : env.GOOGLE_APPLICATION_CREDENTIALS || undefined;
    // A proxy in front of Google with another host name may need no credentials.
    const isGoogle =
      target.baseUrl === AI_STUDIO || new URL(target.baseUrl).hostname.endsWith(".googleapis.com");
    if (path === undefined && env.GCE_METADATA_HOST === undefined && !isGoogle) return undefined;
    const id = JSON.stringify([target.channel, path]);
    let token = tokens.get(id);
    if (token === undefined) {
      token = createRenewed(async (caller) => {
        const { value, expiresAt } = await source.fetch(caller, path);
        return { value: { token: value }, expiresAt };
      }, now);
      tokens.set(id, token);
    }
    return token(target);
  };
}

/** Fetches access tokens with the credentials of a file, of the user or of the machine. */
class TokenSource {
  readonly #env: Surroundings["env"];
  readonly #now: Surroundings["now"];
  readonly #load: (missing: MissingPackage) => Promise<GoogleLibrary>;

  constructor({ env, now, library }: Surroundings) {
    this.#env = env;
    this.#now = now;
    this.#load = library ?? ((missing) => optionalPackage<GoogleLibrary>(PACKAGE, missing));
  }

  async fetch(target: Target, path: string | undefined): Promise<Expiring<string>> {
    const file = path === undefined ? await this.#readUserFile() : await readKeyFile(target, path);
    if (file === undefined) return this.#fromMetadata(target);
    const url = typeof file.token_uri === "string" ? file.token_uri : TOKEN_URL;
    if (file.type === "service_account") {
      const form = {
        grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
        assertion: this.#signAssertion(file, url, target),
      };
      return fetchAccessToken(target, url, form, this.#now);
    }
    if (file.type === "authorized_user") {
      const { client_id, client_secret, refresh_token } = file;
      const form = {
        client_id: `${client_id}`,
        client_secret: `${client_secret}`,
        refresh_token: `${refresh_token}`,
      };
      return fetchAccessToken(target, url, { grant_type: "refresh_token", ...form }, this.#now);
    }
    return this.#fromLibrary(target, file);
  }

  /** Reads the file that `gcloud auth application-default login` writes. */
  async #readUserFile(): Promise<File | undefined> {
    if (this.#env.HOME === undefined) return undefined;
    const path = join(this.#env.HOME, ".config/gcloud/application_default_credentials.json");
    return readFile(path, "utf8").then(parseFile, () => undefined);
  }

  #signAssertion(
    { client_email, private_key, private_key_id }: File,
    url: string,
    target: Target,
  ): string {
    const seconds = Math.floor(this.#now() / 1000);
    const head = { alg: "RS256", typ: "JWT", kid: private_key_id };
    const claims = { iss: client_email, scope: SCOPE, aud: url, iat: seconds, exp: seconds + 3600 };
    const text = [head, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    try {
      return `${text}.${createSign("RSA-SHA256").update(text).sign(String(private_key), "base64url")}`;
    } catch (error) {
      throw errors.badPrivateKey({ channel: target.channel }, { cause: error });
    }
  }

  /** Asks the machine's own metadata server, and therefore never through a proxy. */
  async #fromMetadata(target: Target): Promise<Expiring<string>> {
    const host = this.#env.GCE_METADATA_HOST ?? "metadata.google.internal";
    const url = `http://${host}${METADATA_PATH}`;
    const { status, body } = await guardedFetch(createOwnerGuard(url), url, {
      headers: { "metadata-flavor": "Google" },
      timeoutMs: METADATA_TIMEOUT_MS,
      maxBytes: METADATA_MAX_BYTES,
      redirects: 0,
    }).catch((cause: unknown) => {
      throw errors.noMetadataServer({ channel: target.channel, host }, { cause });
    });
    return readAccessToken(target, { status, headers: {}, body }, this.#now);
  }

  async #fromLibrary(target: Target, file: File): Promise<Expiring<string>> {
    const { channel } = target;
    const { GoogleAuth } = await this.#load((cause) =>
      errors.packageMissing({ channel, type: String(file.type), package: PACKAGE }, { cause }),
    );
    try {
      const value = await new GoogleAuth({ credentials: file, scopes: [SCOPE] }).getAccessToken();
      if (typeof value === "string") return { value, expiresAt: this.#now() + LIBRARY_FRESH_MS };
    } catch (error) {
      // The status of the token server is omitted, because it does not belong to the client's request.
      throw errors.tokenFailed({ channel, reason: packageReason(error) }, { cause: error });
    }
    throw errors.noToken({ channel });
  }
}

/** Headers in which a channel sends its own credentials. */
const CREDENTIAL_HEADER = /^(authorization|x-goog-api-key)$/i;

interface GoogleLibrary {
  GoogleAuth: new (options: object) => { getAccessToken(): Promise<string | null | undefined> };
}

async function readKeyFile({ channel }: Target, path: string): Promise<File> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw errors.keyFileUnreadable({ channel, file: basename(path) }, { cause: error });
  }
  const file = parseFile(text);
  if (file === undefined) throw errors.keyFileNotJson({ channel, file: basename(path) });
  return file;
}

function parseFile(text: string): File | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as File) : undefined;
  } catch {
    return undefined;
  }
}
