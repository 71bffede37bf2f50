/** Entra's access tokens: of an application by its secret or federated token, else by the package of Azure's own chain. */
import { readFile } from "node:fs/promises";
import {
  createRenewed,
  type Expiring,
  packageReason,
  optionalPackage,
  type Target,
  type WireProvider,
} from "portico/provider";
import { fetchAccessToken } from "portico/models";
import { errors } from "./errors.ts";

const SCOPE = "https://cognitiveservices.azure.com/.default";
const AUTHORITY = "https://login.microsoftonline.com";
const ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** What the process gives. */
export interface Surroundings {
  env: Record<string, string | undefined>;
  now: () => number;
}

/** For channels without a key. A proxy in front of Azure under another name may need none. */
export function createEntraCredential({
  env,
  now,
}: Surroundings): NonNullable<WireProvider["credential"]> {
  const tokens = new Map<string, ReturnType<typeof createRenewed<{ token: string }, Target>>>();

  return (target) => {
    if (!wantsEntra(target) || Object.keys(target.headers).some((name) => OWN.test(name)))
      return undefined;
    let token = tokens.get(target.channel);
    if (token === undefined) {
      token = createRenewed(async (by) => {
        const { value, expiresAt } = await fetchToken(by);
        return { value: { token: value }, expiresAt };
      }, now);
      tokens.set(target.channel, token);
    }
    return token(target);
  };

  function wantsEntra({ baseUrl, options }: Target): boolean {
    if (options.entra !== undefined) return options.entra === true;
    return Boolean(env.AZURE_CLIENT_ID) || AZURE_HOST.test(new URL(baseUrl).hostname);
  }

  async function fetchToken(target: Target): Promise<Expiring<string>> {
    const { AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: client, AZURE_CLIENT_SECRET: secret } = env;
    const file = env.AZURE_FEDERATED_TOKEN_FILE;
    if (!tenant || !client || (!secret && !file)) return fromPackage(target);
    const authority = (env.AZURE_AUTHORITY_HOST ?? AUTHORITY).replace(/\/+$/, "");
    const url = `${authority}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
    const proof: Record<string, string> = secret
      ? { client_secret: secret }
      : { client_assertion_type: ASSERTION, client_assertion: await federatedToken(target, file!) };
    return fetchAccessToken(
      target,
      url,
      { grant_type: "client_credentials", client_id: client, scope: SCOPE, ...proof },
      now,
    );
  }
}

/** Headers that a channel brings its own credentials in. */
const OWN = /^(authorization|api-key|ocp-apim-subscription-key)$/i;

const AZURE_HOST = /\.(azure\.(com|us|cn)|microsoft\.com)$/i;

interface AzureIdentity {
  DefaultAzureCredential: new () => {
    getToken(scope: string): Promise<{ token: string; expiresOnTimestamp: number } | null>;
  };
}

/** Managed identities, `az login` and the like. */
async function fromPackage(target: Target): Promise<Expiring<string>> {
  const { channel } = target;
  const { DefaultAzureCredential } = await optionalPackage<AzureIdentity>(
    "@azure/identity",
    (cause) => errors.packageMissing({ channel }, { cause }),
  );
  try {
    const got = await new DefaultAzureCredential().getToken(SCOPE);
    if (got !== null) return { value: got.token, expiresAt: got.expiresOnTimestamp };
  } catch (error) {
    throw chainFailed(target, error);
  }
  throw errors.noCredentials({ channel });
}

async function federatedToken(target: Target, path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw chainFailed(target, error);
  }
}

function chainFailed({ channel }: Target, cause: unknown): Error {
  return errors.chainFailed({ channel, reason: packageReason(cause) }, { cause });
}
