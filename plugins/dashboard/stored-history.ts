/** The history of the channels, which the store keeps over a restart of the gateway. */
import { hostname } from "node:os";
import type { PluginContext } from "portico";
import type {} from "portico/models";
import type {} from "portico/store";
import { createHistory, type Read, resumed, type SavedHistory } from "./history.ts";

const NAMESPACE = "dashboard.history";
const KEEP_MS = 3_600_000;

export interface StoredHistory {
  /** Ends a step, and keeps all steps. */
  sample(): Promise<void>;
  read(): Read;
  /** Keeps the step that is under way too, before the gateway stops. */
  close(): Promise<void>;
}

/** Each worker keeps its own: gateways may share the store, so the key names the machine and the home as well. */
export async function openHistory(ctx: PluginContext): Promise<StoredHistory> {
  const worker = ctx.find("workers")?.index ?? 0;
  const key = `${hostname()} ${ctx.paths.home} ${worker}`;
  const kv = () => ctx.find("store")?.kv;
  // Without the store the history begins with this start.
  const saved = await kv()
    ?.get<SavedHistory>(NAMESPACE, key)
    .catch(() => undefined);
  const history = createHistory(
    () => ctx.find("channels")?.list() ?? [],
    saved && resumed(saved, Date.now()),
  );

  const keep = async (channels: SavedHistory["channels"]): Promise<void> => {
    const value: SavedHistory = { at: Date.now(), channels };
    await kv()
      ?.set(NAMESPACE, key, value, { ttlMs: KEEP_MS })
      .catch((error: unknown) =>
        ctx.log.debug({ err: error }, "The history of the channels was not kept."),
      );
  };
  return {
    async sample() {
      history.sample();
      await keep(history.steps());
    },
    read: () => history.read(),
    close: () => keep(history.read().channels),
  };
}
