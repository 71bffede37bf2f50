/** The plugin that records what happened to each request for a model. */
import { definePlugin } from "portico";
import type {} from "portico/models";
import { errors } from "./errors.ts";
import { contentSchema, requestsSchema } from "./schema.ts";

const EXPIRE_MS = 60_000;

export default definePlugin({
  name: "request-log",
  description:
    "Stores details of individual requests: client, model, attempts, changes by hooks, tokens and cost",
  config: { requests: requestsSchema, "log.content": contentSchema },
  errors,
  commands: { requests: () => import("./cli.ts") },

  async setup(ctx, config) {
    const { createPages, curlOf, noRequests, readQuery, Recorder, requestRoutes } = await import(
      "./parts.ts"
    );

    const settings = (all: typeof config) => ({
      requests: all.requests,
      content: all["log.content"],
    });
    const recorder = new Recorder(settings(config), ctx.keep("requests", noRequests));
    ctx.onConfig((next: typeof config) => recorder.configure(settings(next)));
    ctx.add("meter", {
      name: "request-log",
      finished: (record) => recorder.recordMetered(record),
      keepsContent: (client) => recorder.keepsContent(client),
    });
    ctx.add("requestWatcher", {
      name: "request-log",
      ended: (request) => recorder.recordEnded(request),
    });
    ctx.task("expire requests", { everyMs: EXPIRE_MS }, () => recorder.expire());

    // The models service masks, since providers know secrets that are not in the configuration, such as fetched tokens.
    const mask = <T>(value: T): T => ctx.use("models").mask(value);
    const pages = createPages(recorder, ctx.find("workers"));
    ctx.defer(() => pages.close());
    ctx.route("GET", "/requests", requestRoutes.list, async ({ query }) =>
      mask(await pages.page(readQuery(query, Date.now()))),
    );
    ctx.route("GET", "/requests/:id", requestRoutes.show, async ({ params }) => {
      const details = mask(await pages.newestWithId(params["id"]!));
      return { ...details, curl: curlOf(details, ctx.url()) };
    });
  },
});
