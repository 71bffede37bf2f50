/**
 * A chat provider whose models are dice: it answers any request to "dice/d20" with a roll. It shows the parts of a custom
 * provider: a name, its models, an answer, and its own configuration.
 *
 * For an HTTP service, the provider has a `wire` instead of `complete`: then it only translates, and the gateway sends,
 * retries, streams and cancels (see `plugins/provider-ollama`).
 */
import { definePlugin, PorticoError, Type } from "portico";
import type { ChatProvider, ChatRequest } from "portico/chat";

const provider = (maxSides: number): ChatProvider => ({
  name: "dice",
  description: "Rolls dice",
  // A channel of this name exists without any configuration.
  builtinChannel: "dice",

  models: () => ["d6", "d20"],

  async complete(request, target) {
    return `${roll(target.model, maxSides)} for "${lastText(request)}"`;
  },

  /** Yields pieces of text. `target.signal` is aborted when the client disconnects. */
  async *stream(request, target) {
    yield `${roll(target.model, maxSides)}`;
    yield " for ";
    yield `"${lastText(request)}"`;
  },
});

function roll(model: string, maxSides: number): number {
  const sides = Number(/^d(\d+)$/.exec(model)?.[1]);
  if (!(sides >= 2 && sides <= maxSides)) {
    throw new PorticoError("model_not_found", `dice has d2 to d${maxSides}, not "${model}".`);
  }
  return 1 + Math.floor(Math.random() * sides);
}

function lastText(request: ChatRequest): string {
  const content = request.messages.findLast(({ role }) => role === "user")?.content ?? "";
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("");
}

export default definePlugin({
  name: "dice-provider",
  description: "Dice as chat models",
  names: { provider: ["dice"], builtinChannel: ["dice"] },
  config: { dice: Type.Object({ maxSides: Type.Integer({ default: 100, minimum: 2 }) }) },
  setup(ctx, config) {
    ctx.add("provider", provider(config.dice.maxSides));
  },
});
