/** Whose files are whose: code runs only where nobody else could have written it. */
import { statSync } from "node:fs";
import { sep } from "node:path";

export function isInside(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep);
}

/** Why a file or directory is not the gateway's user's alone; no exemption for root, neither as owner nor as that user. */
export function whyNotOwn(path: string, name = path): string | undefined {
  const { mode, uid } = statSync(path);
  const own = process.getuid?.();
  if (own !== undefined && uid !== own)
    return `${name} belongs to another user (${uid}) than the gateway's (${own}): run chown on it`;
  return mode & 0o022 ? `others may write ${name}: run chmod go-w on it` : undefined;
}
