/** `GET /openapi.json`: all current routes of every server. */
import { definePlugin, Type } from "portico";
import { describeRoutes } from "./document.ts";
import { errors } from "./errors.ts";
import { jsonResponse } from "./index.ts";

export default definePlugin({
  name: "openapi",
  description: "Describes every HTTP route at /openapi.json",
  errors,
  setup(ctx) {
    const describe = (server: string | undefined) => {
      const servers = ctx.use("gateway").routes();
      const selectedServers = servers.filter(
        (candidate) => server === undefined || candidate.server === server,
      );
      if (selectedServers.length > 0) return describeRoutes(selectedServers, ctx.version);
      const names = servers.map((known) => known.server).join(", ");
      throw errors.unknownServer({ server: String(server), names }, { param: "server" });
    };
    // Only the first worker knows all routes, because it runs the servers that exist once per machine, such as the
    // browser's.
    const workers = ctx.find("workers");
    const isFirst = workers === undefined || workers.index === 0;
    if (workers && isFirst)
      ctx.defer(
        workers.on("openapi", async (server) =>
          toJson(await describe(server as string | undefined)),
        ),
      );
    ctx.route(
      "GET",
      "/openapi.json",
      {
        access: "gateway",
        summary: "Describe every HTTP route in OpenAPI 3.1",
        query: Type.Object({
          server: Type.Optional(
            Type.String({ description: "Only routes of this server: gateway, browser, …" }),
          ),
        }),
        response: jsonResponse(
          Type.Object({ openapi: Type.String(), info: Type.Object({}), paths: Type.Object({}) }),
          { description: "The OpenAPI document." },
        ),
      },
      ({ query }) => {
        const server = query.get("server") ?? undefined;
        return isFirst ? describe(server) : workers.ask<object>(0, "openapi", server);
      },
    );
  },
});

/** Removes functions from schemas, such as a check of dates, because they cannot be sent to another process. */
const toJson = (document: object): unknown => JSON.parse(JSON.stringify(document));
