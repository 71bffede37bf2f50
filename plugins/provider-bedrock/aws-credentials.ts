/** AWS's credentials: the environment's, else those of AWS's default chain (profiles, SSO, roles), which expire. */
import { PorticoError } from "portico";
import {
  createRenewed,
  type Credential,
  packageReason,
  optionalPackage,
  type Target,
  type WireProvider,
} from "portico/provider";

const PACKAGE = "@aws-sdk/credential-provider-node";

interface AwsIdentity {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
  expiration?: Date | undefined;
}
interface AwsChain {
  defaultProvider(options?: object): () => Promise<AwsIdentity>;
}

/** What the process gives. `chain` is the package of AWS's default chain. */
export interface ChainOptions {
  env: Record<string, string | undefined>;
  now: () => Date;
  chain?: (missing: string) => Promise<AwsChain>;
}

/** For channels without a key, where the environment holds none either. The chain is the process's: one for all of them. */
export function createAwsCredential({
  env,
  now,
  chain,
}: ChainOptions): NonNullable<WireProvider["credential"]> {
  const load = chain ?? ((missing: string) => optionalPackage<AwsChain>(PACKAGE, missing));
  const fetched = createRenewed<Credential, Target>(
    async ({ channel }) => {
      const missing = `The channel ${channel} has no credentials: set its apiKey, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. AWS's default chain (profiles, SSO, roles of containers and machines) needs a package`;
      const { defaultProvider } = await load(missing);
      const { accessKeyId, secretAccessKey, sessionToken, expiration } =
        await defaultProvider()().catch((error) => refuse(channel, error));
      const value = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
      return { value, expiresAt: expiration?.getTime() };
    },
    () => now().getTime(),
  );

  return (target) => {
    // The channel brings its own: nobody is asked, and nothing of AWS's goes where that leads.
    if (Object.keys(target.headers).some((name) => name.toLowerCase() === "authorization"))
      return undefined;
    if (env.AWS_ACCESS_KEY_ID && env.AWS_SECRET_ACCESS_KEY) return environmentKeys(env);
    if (env.AWS_BEARER_TOKEN_BEDROCK) return undefined;
    return fetched(target);
  };
}

function environmentKeys(env: ChainOptions["env"]): Credential {
  const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = env;
  const sessionToken = env.AWS_SESSION_TOKEN;
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

function refuse(channel: string, cause: unknown): never {
  const message = `The channel ${channel} has no credentials, and AWS's default chain gives none: ${packageReason(cause)}`;
  throw new PorticoError("upstream_auth", message, { type: "api_error", cause });
}
