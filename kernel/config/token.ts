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
  const fresh = freshToken();
  await config.set(["gateway", "auth", "token"], fresh);
  return { token: fresh, generated: true };
}

/** Never begins with a dash: on a command line it would be taken for an option. */
export function freshToken(random: (bytes: number) => Buffer = randomBytes): string {
  for (;;) {
    const token = random(32).toString("base64url");
    if (!token.startsWith("-")) return token;
  }
}
