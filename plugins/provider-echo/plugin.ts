/** `echo`: a model without a network, for trying clients, hooks and tests. */
import { definePlugin, timerMs, Type } from "portico";

export default definePlugin({
  name: "provider-echo",
  names: { provider: ["echo"], builtinChannel: ["echo"] },
  description: "Provides the echo model, which responds with the last user message",
  config: {
    "channels.*": Type.Object({
      delayMs: Type.Optional(
        timerMs({
          minimum: 0,
          description: "For echo: the pause before each word, in milliseconds. Default: 0.",
        }),
      ),
    }),
  },
  async setup(ctx) {
    const { echo } = await import("./echo.ts");
    ctx.add("provider", echo);
    // Each request contains the channel's options, so a change requires no reload.
    ctx.onConfig(() => {});
  },
});
