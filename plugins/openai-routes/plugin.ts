/** OpenAI's routes beside chat, responses and embeddings, over all channels that have them. */
import { type Call, definePlugin } from "portico";
import type { ApiRoute } from "portico/chat";
import { RoutesConfig } from "./schema.ts";

const JSON_ROUTES: [ApiRoute, string][] = [
  ["completions", "A completion of a text, whole or streamed"],
  ["images/generations", "Images of a text"],
  ["audio/speech", "A text, spoken"],
  ["moderations", "What is wrong with a text"],
  ["rerank", "Documents by how well they fit a query"],
];
const UPLOAD_ROUTES: [ApiRoute, string][] = [
  ["images/edits", "An image, changed"],
  ["audio/transcriptions", "What is said in a recording"],
  ["audio/translations", "The same in English"],
];

export default definePlugin({
  name: "openai-routes",
  description:
    "/v1/completions, images, audio, moderations and rerank over all channels that have them",
  config: { routes: RoutesConfig },
  needs: ["chat"],
  setup(ctx, config) {
    let settings = config.routes;
    ctx.onConfig((next: typeof config) => {
      settings = next.routes;
    });
    const mount = (path: string, summary: string, handle: (call: Call) => Promise<void>) =>
      ctx.route("POST", path, { access: "client", summary }, handle);
    const takeJson = (route: ApiRoute) => async (call: Call) => {
      const { forwardJson } = await import("./json-request.ts");
      await forwardJson(ctx.use("chat"), call, route);
    };
    for (const [route, summary] of JSON_ROUTES) mount(`/v1/${route}`, summary, takeJson(route));
    // Cohere's newer clients ask here, and mean the same.
    mount("/v2/rerank", "The same as /v1/rerank", takeJson("rerank"));
    for (const [route, summary] of UPLOAD_ROUTES) {
      mount(`/v1/${route}`, summary, async (call) => {
        const { forwardUpload } = await import("./upload-request.ts");
        await forwardUpload(ctx.use("chat"), call, route, settings.maxUploadBytes);
      });
    }
  },
});
