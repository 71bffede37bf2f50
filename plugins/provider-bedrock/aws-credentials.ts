/** AWS's credentials: the environment's, else those of AWS's default chain (profiles, SSO, roles), which expire. */
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

/** What the process gives. `chain` is the package of AWS's default chain. */
export interface ChainOptions {
  env: Record<string, string | undefined>;
  now: () => Date;
  chain?: (missing: MissingPackage) => Promise<AwsChain>;
}

/** For channels without a key, where the environment holds none either. The chain is the process's: one for all of them. */
export function createAwsCredential({
  env,
  now,
  chain,
}: ChainOptions): NonNullable<WireProvider["credential"]> {
  const load = chain ?? ((missing: MissingPackage) => optionalPackage<AwsChain>(PACKAGE, missing));
  const fetched = createRenewed<Credential, Target>(
    async ({ channel }) => {
      const { defaultProvider } = await load((cause) =>
        errors.packageMissing({ channel, package: PACKAGE }, { cause }),
      );
      const { accessKeyId, secretAccessKey, sessionToken, expiration } =
        await defaultProvider()().catch((error) => refuse(channel, error));
      const value = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
      return { value, expiresAt: expiration?.getTime() };
    },
    () => now().getTime(),
  );

  return (target) => {
    // The channel has its own key: no credentials of AWS are looked up or sent.
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
  throw errors.chainFailed({ channel, reason: packageReason(cause) }, { cause });
}
