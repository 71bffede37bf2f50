/** `GET /openapi.json`: every route of every server, as it is at that moment. */
import { definePlugin } from "portico";
import { describeRoutes } from "./document.ts";

export default definePlugin({
  name: "openapi",
  description: "Describes every HTTP route at /openapi.json",
  setup(ctx) {
    ctx.route("GET", "/openapi.json", { access: "gateway", summary: "Every HTTP route, as OpenAPI 3.1" }, () =>
      describeRoutes(ctx.use("gateway").routes(), ctx.version),
    );
  },
});
