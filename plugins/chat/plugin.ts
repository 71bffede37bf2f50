/** The plugin for chat completions in OpenAI's format, for HTTP clients and for hooks. */
import { definePlugin } from "portico";
import type {} from "portico/models";
import { errors } from "./errors.ts";

export default definePlugin({
  name: "chat",
  description:
    "Serves POST /v1/chat/completions, so that clients of OpenAI's format can use all channels",
  needs: ["models"],
  errors,
  hookContext: {
    chat: "requests a completion from a model; takes a string, a list of messages, or a complete chat request",
  },
  firstSteps: [
    [
      "portico hooks new hello --event message:received",
      "creates a hook that receives every message; it is active at once",
    ],
  ],

  async setup(ctx) {
    const { chatRoutes, createCompletion, createHookChat } = await import("./parts.ts");
    ctx.route("POST", "/v1/chat/completions", chatRoutes.completions, (call) =>
      createCompletion(ctx.use("models"), call),
    );
    ctx.add("hookContext", {
      name: "chat",
      create: (call) => createHookChat(ctx.use("models"), call),
    });
    ctx.add("banner", {
      name: "chat",
      rows: ({ url }) => [["Base URL", `${url}/v1`]],
      example: ({ url, token }) =>
        `curl ${url}/v1/chat/completions -H "Authorization: Bearer ${token}" -H "Content-Type: application/json" -d '{"model":"echo","messages":[{"role":"user","content":"Hello, Portico"}]}'`,
    });
  },
});
