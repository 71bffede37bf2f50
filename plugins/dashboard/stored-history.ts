/** The history of the channels in the store, so that it survives a restart of the gateway. */
import { hostname } from "node:os";
import type { PluginContext } from "portico";
import type {} from "portico/models";
import type {} from "portico/store";
import { createHistory, type HistoryReading, resumeHistory, type SavedHistory } from "./history.ts";

const NAMESPACE = "dashboard.history";
const KEEP_MS = 3_600_000;

export interface StoredHistory {
  /** Ends a step, and saves all steps. */
  sample(): Promise<void>;
  read(): HistoryReading;
  /** Saves all steps including the current one, before the gateway stops. */
  close(): Promise<void>;
}

/** Opens the history of this worker. Gateways may share the store, so the key names the machine and the home as well. */
export async function openHistory(ctx: PluginContext): Promise<StoredHistory> {
  const worker = ctx.find("workers")?.index ?? 0;
  const key = `${hostname()} ${ctx.paths.home} ${worker}`;
  const kv = () => ctx.find("store")?.kv;
  // If the store fails, the history begins with this start.
  const saved = await kv()
    ?.get<SavedHistory>(NAMESPACE, key)
    .catch(() => undefined);
  const history = createHistory(
    () => ctx.find("channels")?.list() ?? [],
    saved && resumeHistory(saved, Date.now()),
  );

  const save = async (channels: SavedHistory["channels"]): Promise<void> => {
    const value: SavedHistory = { at: Date.now(), channels };
    await kv()
      ?.set(NAMESPACE, key, value, { ttlMs: KEEP_MS })
      .catch((error: unknown) =>
        ctx.log.debug({ err: error }, "The history of the channels could not be saved."),
      );
  };
  return {
    async sample() {
      history.sample();
      await save(history.steps());
    },
    read: () => history.read(),
    close: () => save(history.read().channels),
  };
}
