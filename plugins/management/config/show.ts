/** Formats changes and versions of the configuration for the terminal. */
import type { ConfigDifference, VersionInfo } from "portico";
import type { CommandIO } from "portico/command-line";
import type { Change } from "./change.ts";

/** Returns a line for each key, with the old value (`-`) and the new one (`+`) below it. */
export function differenceLines(changes: readonly ConfigDifference[]): string[] {
  if (changes.length === 0) return ["No values changed."];
  return changes.flatMap(({ key, kind, before, after }) => [
    `${key} (${kind})`,
    ...(kind === "added" ? [] : textLines("- ", before)),
    ...(kind === "removed" ? [] : textLines("+ ", after)),
  ]);
}

function textLines(sign: string, value: unknown): string[] {
  return JSON.stringify(value, null, 2)
    .split("\n")
    .map((line) => `  ${sign}${line}`);
}

/** Formats versions as a table, newest first. */
export function versionLines(io: CommandIO, versions: readonly VersionInfo[]): string[] {
  if (versions.length === 0) return ["No versions have been stored yet."];
  const rows = [...versions]
    .reverse()
    .map((version) => [
      version.id,
      version.at.replace("T", " ").slice(0, 19),
      version.principal,
      version.address === undefined ? version.via : `${version.via} (${version.address})`,
      version === versions[0] ? "the oldest stored version" : formatChange(version),
    ]);
  return io.table(["#", "when (UTC)", "who", "from", "changed"], rows);
}

const MAX_LISTED_KEYS = 4;

function formatChange({ keys, restored }: VersionInfo): string {
  if (restored !== undefined) return `restored version ${restored}`;
  if (keys.length === 0) return "comments or layout only";
  const more = keys.length > MAX_LISTED_KEYS ? `, and ${keys.length - MAX_LISTED_KEYS} more` : "";
  return keys.slice(0, MAX_LISTED_KEYS).join(", ") + more;
}

/** Returns sentences on the parts of a change that are not active yet, or an empty string. */
export function pendingText({ atNextStart, unconfirmed }: Change): string {
  const restartText =
    atNextStart.length === 0
      ? ""
      : ` ${atNextStart.join(", ")} ${atNextStart.length === 1 ? "takes" : "take"} effect at the next start of the gateway.`;
  const unconfirmedText =
    unconfirmed === undefined
      ? ""
      : ` The running gateway did not confirm the change: ${unconfirmed} See portico doctor.`;
  return restartText + unconfirmedText;
}
