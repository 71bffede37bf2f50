import { randomBytes } from "node:crypto";
import type { ConfigStore } from "./config.ts";

/**
 * Sees to it that the gateway has a credential: where neither token nor password is set, a token (32 random bytes) is
 * made and stored in the configuration. `token` is undefined where there is only a password.
 */
export async function ensureToken(config: ConfigStore): Promise<{ token?: string; generated: boolean }> {
  const { token, password } = config.kernel.gateway.auth;
  if (token !== undefined) return { token, generated: false };
  if (password !== undefined) return { generated: false };
  const fresh = randomBytes(32).toString("base64url");
  await config.set(["gateway", "auth", "token"], fresh);
  return { token: fresh, generated: true };
}
