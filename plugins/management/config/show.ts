/** The configuration's changes and versions as lines for people. */
import type { ConfigDifference, VersionInfo } from "portico";
import type { CommandIO } from "portico/command-line";
import type { Change } from "./change.ts";

/** A key per line, and below it what went (`-`) and what came (`+`). */
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

/** The newest first. */
export function versionLines(io: CommandIO, versions: readonly VersionInfo[]): string[] {
  if (versions.length === 0) return ["No version is kept yet."];
  const rows = [...versions]
    .reverse()
    .map((version) => [
      version.id,
      version.at.replace("T", " ").slice(0, 19),
      version.principal,
      version.address === undefined ? version.via : `${version.via} (${version.address})`,
      version === versions[0] ? "the oldest that is kept" : changeOf(version),
    ]);
  return io.table(["#", "when (UTC)", "who", "from", "changed"], rows);
}

const LONGEST_LIST = 4;

function changeOf({ keys, restored }: VersionInfo): string {
  if (restored !== undefined) return `back to version ${restored}`;
  if (keys.length === 0) return "comments or layout only";
  const more = keys.length > LONGEST_LIST ? `, and ${keys.length - LONGEST_LIST} more` : "";
  return keys.slice(0, LONGEST_LIST).join(", ") + more;
}

/** What a person must know about a change that was made. */
export function afterwards({ atNextStart, unconfirmed }: Change): string {
  const waiting =
    atNextStart.length === 0
      ? ""
      : ` ${atNextStart.join(", ")} ${atNextStart.length === 1 ? "takes" : "take"} effect at the next start of the gateway.`;
  const doubt =
    unconfirmed === undefined
      ? ""
      : ` The running gateway did not confirm the change: ${unconfirmed} See portico doctor.`;
  return waiting + doubt;
}
