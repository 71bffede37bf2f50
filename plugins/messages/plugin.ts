/** The plugin that serves all channels through Anthropic's Messages API. */
import { definePlugin } from "portico";
import { isAnthropicClient } from "portico/models";

export default definePlugin({
  name: "messages",
  description:
    "Serves POST /v1/messages, so that clients of Anthropic's format can use all channels",
  needs: ["models"],
  async setup(ctx) {
    const {
      anthropicError,
      anthropicForm,
      anthropicHeaders,
      countTokens,
      createMessage,
      messageRoutes,
    } = await import("./parts.ts");
    const form = { schema: anthropicError, headers: anthropicHeaders };
    ctx.errors("/v1/messages", anthropicForm, form);
    ctx.errors("/v1/models", anthropicForm, { ...form, when: isAnthropicClient });
    ctx.route("POST", "/v1/messages", messageRoutes.create, (call) =>
      createMessage(ctx.use("models"), call),
    );
    ctx.route("POST", "/v1/messages/count_tokens", messageRoutes.countTokens, (call) =>
      countTokens(ctx.use("models"), call),
    );
  },
});
