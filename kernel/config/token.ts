import { randomBytes } from "node:crypto";
import type { ConfigStore } from "./config.ts";

/** Where neither token nor password is set, a token (32 random bytes) is made and stored in the configuration: true then. */
export async function ensureToken(config: ConfigStore): Promise<boolean> {
  const { token, password } = config.kernel.gateway.auth;
  if (token !== undefined || password !== undefined) return false;
  await config.set(["gateway", "auth", "token"], freshToken());
  return true;
}

/** Never begins with a dash: on a command line it would be taken for an option. */
export function freshToken(random: (bytes: number) => Buffer = randomBytes): string {
  const token = random(32).toString("base64url");
  return token.startsWith("-") ? freshToken(random) : token;
}
