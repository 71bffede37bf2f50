/** Names the tools and prompts of servers. */
import { createHash } from "node:crypto";

const NAME_CHARS = 64;

/**
 * Returns `<server>_<name>` with characters that models accept, and adds it to `usedNames`. A name that is too long or
 * in use gets a digest.
 */
export function uniqueName(server: string, name: string, usedNames: Set<string>): string {
  const plain = `${server}_${name}`.replace(/[^A-Za-z0-9_-]/g, "_");
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 8);
  const unique =
    plain.length > NAME_CHARS || usedNames.has(plain)
      ? `${plain.slice(0, NAME_CHARS - digest.length - 1)}_${digest}`
      : plain;
  usedNames.add(unique);
  return unique;
}
