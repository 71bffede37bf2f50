/** The audit trail: who changed what, or tried to. */
import { definePlugin } from "portico";
import type {} from "portico/models";
import type {} from "portico/store";
import { errors } from "./errors.ts";
import { auditSchema } from "./schema.ts";

const FLUSH_MS = 5000;
const PRUNE_MS = 3_600_000;

export default definePlugin({
  name: "audit",
  description:
    "Records who changed what through the console, the command line, HTTP and the configuration file, and which attempts were refused",
  config: { audit: auditSchema },
  errors,
  commands: { audit: () => import("./cli.ts") },
  needs: ["store"],

  async setup(ctx, config) {
    const { auditRoutes, createEntry, FileChanges, readPage, parseQuery, RefusedAttempts, Trail } =
      await import("./parts.ts");

    let settings = config.audit;
    ctx.onConfig((next: typeof config) => {
      settings = next.audit;
    });
    const store = () => ctx.use("store");
    const trail = new Trail(store, () => settings);
    const otherAttempts = new RefusedAttempts(trail);
    const mask = <T>(value: T): T => ctx.find("models")?.mask(value) ?? value;

    ctx.add("changeWatcher", {
      name: "audit",
      attempted(attempt) {
        const entry = createEntry(attempt, mask);
        return entry.principal === "owner" ? trail.add(entry) : otherAttempts.add(entry);
      },
    });

    const files = new FileChanges(trail, ctx.use("host").config, ctx.paths.home);
    const isFirst = (ctx.find("workers")?.index ?? 0) === 0;
    const sync = () => (isFirst ? files.sync() : Promise.resolve());
    ctx.on("config:changed", sync);
    ctx.task("audit: changes of the file", { everyMs: PRUNE_MS, immediately: true }, sync);
    ctx.task("audit: count refused attempts", { everyMs: FLUSH_MS }, () => otherAttempts.flush());
    ctx.task("audit: prune", { everyMs: PRUNE_MS }, () => trail.prune());
    ctx.defer(() => otherAttempts.flush());

    ctx.route("GET", "/audit", auditRoutes.list, async ({ query }) => {
      const selection = parseQuery(query, trail.now());
      await sync();
      await otherAttempts.flush();
      return readPage(trail, selection);
    });
    ctx.route("GET", "/audit/:id", auditRoutes.show, async ({ params }) => {
      const entry = await trail.get(params["id"] ?? "");
      if (!entry) throw errors.unknownEntry();
      return entry;
    });
  },
});
