/** The counts of requests to a plugin's model providers, as part of the plugin's record. */
import { relative } from "node:path";
import type { PluginRecord } from "portico";
import type { ChannelsService } from "portico/models";

/** `file` is relative to the plugin's directory. */
export interface ShownRuns {
  runs: number;
  failures: number;
  lastError?:
    | { at: string; message: string; file?: string | undefined; line?: number | undefined }
    | undefined;
}

export type PluginInfo = PluginRecord & { runs?: Record<string, ShownRuns> | undefined };

export async function addRuns(
  record: PluginRecord,
  channels: ChannelsService | undefined,
): Promise<PluginInfo> {
  const shown: Record<string, ShownRuns> = {};
  for (const effect of record.effects) {
    const [, provider] = /^provider (.*)$/.exec(effect) ?? [];
    const counts = provider === undefined ? undefined : await channels?.runs(provider);
    if (counts === undefined) continue;
    const { runs, failures, lastError } = counts;
    const { at = "", message = "", stack = "" } = lastError ?? {};
    shown[effect] = {
      runs,
      failures,
      lastError: lastError && { at, message, ...findFrame(stack, record.dir) },
    };
  }
  return Object.keys(shown).length === 0 ? record : { ...record, runs: shown };
}

/** Returns the first stack frame below `dir`. */
function findFrame(stack: string, dir: string): { file?: string; line?: number } {
  for (const frame of stack.split("\n")) {
    const match = /(?:file:\/\/)?(\/[^():]+):(\d+):\d+\)?$/.exec(frame);
    const file = match?.[1] && decodeURI(match[1]);
    if (match && file?.startsWith(`${dir}/`))
      return { file: relative(dir, file), line: Number(match[2]) };
  }
  return {};
}
