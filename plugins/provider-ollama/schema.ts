import { Type } from "portico";

export const channelSchema = Type.Object({
  options: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        "For ollama: default options for every request, such as {num_ctx: 8192}. A request's own options override them.",
    }),
  ),
  keepAlive: Type.Optional(
    Type.Union([Type.String(), Type.Number()], {
      description: "For ollama: how long the model stays loaded, such as 30m.",
    }),
  ),
});
