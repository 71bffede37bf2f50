/** The plugin that serves all channels through OpenAI's Responses API. */
import { definePlugin } from "portico";
import { errors } from "./errors.ts";
import { ResponsesConfig } from "./schema.ts";

export default definePlugin({
  name: "responses",
  description:
    "Serves POST /v1/responses, so that clients of OpenAI's Responses format can use all channels",
  config: { responses: ResponsesConfig },
  needs: ["models"],
  errors,
  async setup(ctx, config) {
    const {
      compactConversation,
      countInputTokens,
      createArchive,
      createQuota,
      createResponse,
      deleteResponse,
      getResponse,
      listInputItems,
      responseRoutes,
    } = await import("./parts.ts");
    let settings = config.responses;
    ctx.onConfig((next: typeof config) => {
      settings = next.responses;
    });
    const kv = () => ctx.use("store").kv;
    const quota = createQuota(
      kv,
      () => ctx.use("store").now(),
      () => settings.maxBytesPerKey,
    );
    const archive = createArchive({ kv, days: () => settings.storeDays, quota });
    const services = () => ({ chat: ctx.use("models"), archive, log: ctx.log });
    ctx.route("POST", "/v1/responses", responseRoutes.create, (call) =>
      createResponse(services(), call),
    );
    ctx.route("POST", "/v1/responses/input_tokens", responseRoutes.inputTokens, (call) =>
      countInputTokens(services(), call),
    );
    ctx.route("POST", "/v1/responses/compact", responseRoutes.compact, (call) =>
      compactConversation(services(), call),
    );
    ctx.route("GET", "/v1/responses/:id", responseRoutes.show, (call) =>
      getResponse(archive, call),
    );
    ctx.route("DELETE", "/v1/responses/:id", responseRoutes.remove, (call) =>
      deleteResponse(archive, call),
    );
    ctx.route("GET", "/v1/responses/:id/input_items", responseRoutes.inputItems, (call) =>
      listInputItems(archive, call),
    );
  },
});
