/** Fetches Entra access tokens: with an application's secret or federated token, otherwise with Azure's credential chain. */
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

/** The environment and the clock of the process. */
export interface Surroundings {
  env: Record<string, string | undefined>;
  now: () => number;
}

/** Creates the credential of channels without a key. A proxy in front of Azure with another host name may need none. */
export function createEntraCredential({
  env,
  now,
}: Surroundings): NonNullable<WireProvider["credential"]> {
  const tokens = new Map<string, ReturnType<typeof createRenewed<{ token: string }, Target>>>();

  return (target) => {
    if (
      !wantsEntra(target) ||
      Object.keys(target.headers).some((name) => CREDENTIAL_HEADER.test(name))
    )
      return undefined;
    let token = tokens.get(target.channel);
    if (token === undefined) {
      token = createRenewed(async (caller) => {
        const { value, expiresAt } = await fetchToken(caller);
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
    if (!tenant || !client || (!secret && !file)) return fetchFromPackage(target);
    const authority = (env.AZURE_AUTHORITY_HOST ?? AUTHORITY).replace(/\/+$/, "");
    const url = `${authority}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
    const proof: Record<string, string> = secret
      ? { client_secret: secret }
      : {
          client_assertion_type: ASSERTION,
          client_assertion: await readFederatedToken(target, file!),
        };
    return fetchAccessToken(
      target,
      url,
      { grant_type: "client_credentials", client_id: client, scope: SCOPE, ...proof },
      now,
    );
  }
}

/** Headers in which a channel sends its own credentials. */
const CREDENTIAL_HEADER = /^(authorization|api-key|ocp-apim-subscription-key)$/i;

const AZURE_HOST = /\.(azure\.(com|us|cn)|microsoft\.com)$/i;

interface AzureIdentity {
  DefaultAzureCredential: new () => {
    getToken(scope: string): Promise<{ token: string; expiresOnTimestamp: number } | null>;
  };
}

/** Fetches a token with Azure's package: managed identities, `az login` and others. */
async function fetchFromPackage(target: Target): Promise<Expiring<string>> {
  const { channel } = target;
  const { DefaultAzureCredential } = await optionalPackage<AzureIdentity>(
    "@azure/identity",
    (cause) => errors.packageMissing({ channel }, { cause }),
  );
  try {
    const token = await new DefaultAzureCredential().getToken(SCOPE);
    if (token !== null) return { value: token.token, expiresAt: token.expiresOnTimestamp };
  } catch (error) {
    throw chainFailed(target, error);
  }
  throw errors.noCredentials({ channel });
}

async function readFederatedToken(target: Target, path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw chainFailed(target, error);
  }
}

function chainFailed({ channel }: Target, cause: unknown): Error {
  return errors.chainFailed({ channel, reason: packageReason(cause) }, { cause });
}
