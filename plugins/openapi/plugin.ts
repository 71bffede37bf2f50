/** `GET /openapi.json`: every route of every server, as it is at that moment. */
import { definePlugin, Type } from "portico";
import { describeRoutes } from "./document.ts";
import { jsonResponse } from "./index.ts";

export default definePlugin({
  name: "openapi",
  description: "Describes every HTTP route at /openapi.json",
  setup(ctx) {
    const describe = () => describeRoutes(ctx.use("gateway").routes(), ctx.version);
    // One of several workers has the servers that a machine has once, such as the browser's: it knows all routes.
    const workers = ctx.find("workers");
    const isFirst = workers === undefined || workers.index === 0;
    if (workers && isFirst) ctx.defer(workers.on("openapi", describe));
    ctx.route(
      "GET",
      "/openapi.json",
      {
        access: "gateway",
        summary: "Every HTTP route, as OpenAPI 3.1",
        response: jsonResponse(
          Type.Object({ openapi: Type.String(), info: Type.Object({}), paths: Type.Object({}) }),
          { description: "The document." },
        ),
      },
      () => (isFirst ? describe() : workers.ask<object>(0, "openapi")),
    );
  },
});
