/** What the tools and prompts of a server are called here. */
import { createHash } from "node:crypto";

const NAME_CHARS = 64;

/** `<server>_<name>` in the letters that models accept; where that is too long or `taken`, a digest makes it its own. */
export function uniqueName(server: string, name: string, taken: Set<string>): string {
  const plain = `${server}_${name}`.replace(/[^A-Za-z0-9_-]/g, "_");
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 8);
  const unique =
    plain.length > NAME_CHARS || taken.has(plain)
      ? `${plain.slice(0, NAME_CHARS - digest.length - 1)}_${digest}`
      : plain;
  taken.add(unique);
  return unique;
}
