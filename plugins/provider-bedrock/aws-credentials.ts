/** Finds AWS credentials: those of the environment, otherwise those of AWS's default credential chain (profiles, SSO, roles). */
import {
  createRenewed,
  type Credential,
  packageReason,
  optionalPackage,
  type Target,
  type WireProvider,
} from "portico/provider";
import { errors } from "./errors.ts";

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

/** The error of a package that cannot be loaded. */
type MissingPackage = (cause: unknown) => Error;

/** The environment and the clock of the process. `chain` loads the package of AWS's default chain. */
export interface ChainOptions {
  env: Record<string, string | undefined>;
  now: () => Date;
  chain?: (missing: MissingPackage) => Promise<AwsChain>;
}

/** Creates the credential of channels without a key. All channels share the credentials of the default chain. */
export function createAwsCredential({
  env,
  now,
  chain,
}: ChainOptions): NonNullable<WireProvider["credential"]> {
  const load = chain ?? ((missing: MissingPackage) => optionalPackage<AwsChain>(PACKAGE, missing));
  const fetchFromChain = createRenewed<Credential, Target>(
    async ({ channel }) => {
      const { defaultProvider } = await load((cause) =>
        errors.packageMissing({ channel, package: PACKAGE }, { cause }),
      );
      const { accessKeyId, secretAccessKey, sessionToken, expiration } =
        await defaultProvider()().catch((error) => throwChainFailed(channel, error));
      const value = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
      return { value, expiresAt: expiration?.getTime() };
    },
    () => now().getTime(),
  );

  return (target) => {
    // If the channel sends its own key, no AWS credentials are looked up or sent.
    if (Object.keys(target.headers).some((name) => name.toLowerCase() === "authorization"))
      return undefined;
    if (env.AWS_ACCESS_KEY_ID && env.AWS_SECRET_ACCESS_KEY) return environmentKeys(env);
    if (env.AWS_BEARER_TOKEN_BEDROCK) return undefined;
    return fetchFromChain(target);
  };
}

function environmentKeys(env: ChainOptions["env"]): Credential {
  const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = env;
  const sessionToken = env.AWS_SESSION_TOKEN;
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

function throwChainFailed(channel: string, cause: unknown): never {
  throw errors.chainFailed({ channel, reason: packageReason(cause) }, { cause });
}
