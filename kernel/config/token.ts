import { randomBytes } from "node:crypto";
import type { ConfigStore } from "./config.ts";

/** Stores a new token (32 random bytes) where neither token nor password is set. Returns whether it did. */
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
