import { randomBytes } from "node:crypto";
import type { ConfigStore } from "./config.ts";

/** Stores a new token (32 random bytes) if neither a token nor a password is set. Returns whether it did. */
export async function ensureToken(config: ConfigStore): Promise<boolean> {
  const { token, password } = config.kernel.gateway.auth;
  if (token !== undefined || password !== undefined) return false;
  await config.set(["gateway", "auth", "token"], generateToken());
  return true;
}

/** Generates a token that does not begin with a dash, which a command line would treat as an option. */
export function generateToken(random: (bytes: number) => Buffer = randomBytes): string {
  const token = random(32).toString("base64url");
  return token.startsWith("-") ? generateToken(random) : token;
}
