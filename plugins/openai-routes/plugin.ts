/** OpenAI's routes beside chat, responses and embeddings, over all channels that have them. */
import { type Call, definePlugin, type RouteOptions } from "portico";
import type { ApiRoute } from "portico/provider";
import { errors } from "./errors.ts";
import { JSON_ROUTES, rerankV2, UPLOAD_ROUTES } from "./routes-schema.ts";
import { RoutesConfig } from "./schema.ts";

export default definePlugin({
  name: "openai-routes",
  description:
    "Serves /v1/completions, images, audio, moderations and rerank with all channels that support them",
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
      declared: Omit<RouteOptions, "access">,
      handle: (call: Call) => Promise<void>,
    ) => ctx.route("POST", path, { ...declared, access: "client", checkedBy: "handler" }, handle);
    const takeJson = (route: ApiRoute) => async (call: Call) => {
      const { forwardJson } = await import("./json-request.ts");
      await forwardJson(ctx.use("models"), call, route);
    };
    for (const [route, declared] of JSON_ROUTES) mount(`/v1/${route}`, declared, takeJson(route));
    // Cohere's newer clients ask here, and mean the same.
    mount("/v2/rerank", rerankV2, takeJson("rerank"));
    for (const [route, declared] of UPLOAD_ROUTES) {
      mount(`/v1/${route}`, declared, async (call) => {
        const { forwardUpload } = await import("./upload-request.ts");
        await forwardUpload(ctx.use("models"), call, route, settings.maxUploadBytes);
      });
    }
  },
});
