/** The plugin that serves the console: one page at `/`, its files, and its routes for channels and the browser. */
import type { IncomingHttpHeaders } from "node:http";
import { definePlugin } from "portico";
import type { StaticFiles } from "portico/static-files";
import { type HistoryReading, STEP_MS } from "./history.ts";
import { browserRoutes, dashboardRoutes } from "./routes-schema.ts";
import type { StoredHistory } from "./stored-history.ts";

/** The topic under which workers request each other's history of the last hour. */
const TOPIC = "channel history";

export default definePlugin({
  name: "dashboard",
  description:
    "Serves the console at /, where you can see what the gateway does and change its settings",
  setup(ctx) {
    ctx.add("banner", { name: "dashboard", rows: ({ url }) => [["Dashboard", `${url}/`]] });
    // The files are opened when the page is first requested.
    let files: Promise<StaticFiles> | undefined;
    const serve = async (name: string, request: IncomingHttpHeaders) => {
      files ??= import("./page-files.ts")
        .then(({ openPageFiles }) =>
          openPageFiles({ pluginDir: ctx.dir, packageDir: ctx.paths.package }),
        )
        .catch((error: unknown) => {
          files = undefined; // The next request tries again: file handles may have run out.
          throw error;
        });
      return (await files).answer(name, request);
    };
    // The page and its files hold no data. The page requests all data with the token.
    ctx.route("GET", "/", dashboardRoutes.page, ({ req }) => serve("index.html", req.headers));
    ctx.route("GET", "/dashboard/page/*", dashboardRoutes.file, ({ path, req }) =>
      serve(path.slice("/dashboard/page/".length), req.headers),
    );

    // The store and the channels may be loaded after this plugin, so the history is read at its first use.
    let history: Promise<StoredHistory> | undefined;
    const getHistory = (): Promise<StoredHistory> =>
      (history ??= import("./stored-history.ts").then(({ openHistory }) => openHistory(ctx)));
    ctx.task("channel history", { everyMs: STEP_MS }, async () => (await getHistory()).sample());
    ctx.defer(async () => (await history)?.close());
    const readHistory = async (): Promise<HistoryReading> => (await getHistory()).read();
    const workers = ctx.find("workers");
    if (workers) ctx.defer(workers.on(TOPIC, readHistory));
    ctx.route("GET", "/dashboard/channels", dashboardRoutes.channels, async () => {
      const { mergeHistories } = await import("./history.ts");
      return mergeHistories(
        await readHistory(),
        (await workers?.askAll<HistoryReading>(TOPIC)) ?? [],
      );
    });

    // The browser's control server refuses requests from web pages by design, so the gateway sends them.
    for (const [method, path] of [
      ["GET", "profiles"],
      ["GET", "tabs"],
      ["GET", "screenshot"],
      ["POST", "start"],
      ["POST", "stop"],
    ] as const) {
      ctx.route(method, `/dashboard/browser/${path}`, browserRoutes[path], async (call) => {
        const { requestBrowser } = await import("./browser.ts");
        return requestBrowser(ctx.use("browser"), path, call.query);
      });
    }
  },
});
