/** Rules for paths that the tools may not access, in addition to those outside the place of their call. */
import type { PluginContext, ToolCall } from "portico";
import { fitsPattern } from "portico/strings";
import type { Place, Places } from "../places.ts";

/** A place with the rules that apply to every turn, regardless of who started it. */
export interface GuardedPlace extends Place {
  /** Returns the reason for which the agent may not write a file; undefined if it may. */
  whyProtected(path: string): string | undefined;
  /** Returns whether `agents.defaults.files.deny` lists a path, which is relative to the root. */
  isDenied(path: string): boolean;
  /** Throws `storage_full` if the caller may not store that many additional bytes. */
  admit(bytes: number): Promise<void>;
}

export interface GuardedPlaces {
  of(call: ToolCall): Promise<GuardedPlace>;
}

export function guardPlaces(
  ctx: Pick<PluginContext, "whyProtected" | "find">,
  places: Places,
  deniedPatterns: () => readonly string[],
): GuardedPlaces {
  return {
    async of(call) {
      const place = await places.of(call);
      return {
        ...place,
        whyProtected: (path) => ctx.whyProtected(path, place.root),
        isDenied: (path) => isDenied(path, deniedPatterns()),
        admit: async (bytes) => ctx.find("agent")?.admitFiles(call.principal, bytes),
      };
    },
  };
}

/** A pattern without a slash matches a name at any depth. One with slashes matches consecutive names. */
function isDenied(path: string, patterns: readonly string[]): boolean {
  const names = normalizeName(path).split(/[\\/]/);
  return patterns.some((pattern) => {
    const patternParts = normalizeName(pattern).split("/").filter(Boolean);
    return names.some(
      (_, start) =>
        patternParts.length > 0 &&
        patternParts.every((part, index) => fitsPattern(part, names[start + index] ?? "")),
    );
  });
}

/** Normalises a name, because some file systems treat names that differ in case or Unicode form as the same. */
const normalizeName = (path: string): string => path.normalize("NFC").toLowerCase();
