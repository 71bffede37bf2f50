/** The plugin for OpenAI's routes other than chat, responses and embeddings, over all channels that support them. */
import { type Call, definePlugin, type RouteOptions } from "portico";
import type { ApiRoute } from "portico/provider";
import { errors } from "./errors.ts";
import { JSON_ROUTES, rerankV2, UPLOAD_ROUTES } from "./routes-schema.ts";
import { RoutesConfig } from "./schema.ts";

export default definePlugin({
  name: "openai-routes",
  description:
    "Serves /v1/completions and the routes for images, audio, moderations and rerank, with all channels that support them",
  config: { routes: RoutesConfig },
  needs: ["models"],
  errors,
  setup(ctx, config) {
    let settings = config.routes;
    ctx.onConfig((next: typeof config) => {
      settings = next.routes;
    });
    const mount = (
      path: string,
      declaration: Omit<RouteOptions, "access">,
      handle: (call: Call) => Promise<void>,
    ) =>
      ctx.route("POST", path, { ...declaration, access: "client", checkedBy: "handler" }, handle);
    const jsonHandler = (route: ApiRoute) => async (call: Call) => {
      const { forwardJson } = await import("./json-request.ts");
      await forwardJson(ctx.use("models"), call, route);
    };
    for (const [route, declaration] of JSON_ROUTES)
      mount(`/v1/${route}`, declaration, jsonHandler(route));
    // Cohere's newer clients use this path for the same request.
    mount("/v2/rerank", rerankV2, jsonHandler("rerank"));
    for (const [route, declaration] of UPLOAD_ROUTES) {
      mount(`/v1/${route}`, declaration, async (call) => {
        const { forwardUpload } = await import("./upload-request.ts");
        await forwardUpload(ctx.use("models"), call, route, settings.maxUploadBytes);
      });
    }
  },
});
