/** The HTTP routes of the store. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { PluginContext } from "portico";
import { makePrivateDir } from "./private-files.ts";
import { storeRoutes } from "./routes-schema.ts";

export function mountRoutes(ctx: PluginContext): void {
  ctx.route("GET", "/store", storeRoutes.health, async () => {
    const store = ctx.use("store");
    const health = await store.health();
    return health.ok ? { ...health, queue: await store.items.stats() } : health;
  });
  ctx.route("GET", "/store/lanes", storeRoutes.lanes, async () => ({
    lanes: await ctx.use("store").items.lanes(),
  }));
  ctx.route("POST", "/store/check", storeRoutes.check, async () => {
    const problems = await ctx.use("store").check();
    return { ok: problems.length === 0, problems };
  });
  ctx.route("POST", "/store/backup", storeRoutes.backup, async () => {
    const directory = join(ctx.paths.state, "backups");
    makePrivateDir(directory);
    const time = new Date().toISOString().replaceAll(":", "-");
    const name = `portico-${time}-${randomBytes(4).toString("hex")}.db`; // several workers may write a copy at the same time
    const { bytes } = await ctx.use("store").backup(join(directory, name));
    return { ok: true, name, bytes };
  });
  ctx.route("POST", "/store/compact", storeRoutes.compact, async () => ({
    ok: true,
    ...(await ctx.use("store").compact()),
  }));
}
