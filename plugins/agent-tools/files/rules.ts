/** Paths that the tools may not touch, in addition to those outside the place of their call. */
import type { PluginContext, ToolCall } from "portico";
import { fitsPattern } from "portico/strings";
import type { Place, Places } from "../places.ts";

/** A place with the rules that apply to every turn, regardless of who started it. */
export interface GuardedPlace extends Place {
  /** Why the gateway does not let the agent write a file; undefined where it may. */
  whyProtected(path: string): string | undefined;
  /** Whether `agents.defaults.files.deny` lists a path, which is relative to the root. */
  isDenied(path: string): boolean;
  /** Throws `storage_full` where the caller may not keep so many bytes more. */
  admit(bytes: number): Promise<void>;
}

export interface GuardedPlaces {
  of(call: ToolCall): Promise<GuardedPlace>;
}

export function guardPlaces(
  ctx: Pick<PluginContext, "whyProtected" | "find">,
  places: Places,
  denied: () => readonly string[],
): GuardedPlaces {
  return {
    async of(call) {
      const place = await places.of(call);
      return {
        ...place,
        whyProtected: (path) => ctx.whyProtected(path, place.root),
        isDenied: (path) => isDenied(path, denied()),
        admit: async (bytes) => ctx.find("agent")?.admitFiles(call.principal, bytes),
      };
    },
  };
}

/** A pattern without a slash fits a name at any depth; one with slashes fits names that follow each other. */
function isDenied(path: string, patterns: readonly string[]): boolean {
  const names = fold(path).split(/[\\/]/);
  return patterns.some((pattern) => {
    const wanted = fold(pattern).split("/").filter(Boolean);
    return names.some(
      (_, start) =>
        wanted.length > 0 &&
        wanted.every((part, index) => fitsPattern(part, names[start + index] ?? "")),
    );
  });
}

/** Some file systems take these for the same name. */
const fold = (path: string): string => path.normalize("NFC").toLowerCase();
