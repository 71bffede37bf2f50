/** What `portico plugins new NAME --kind provider` writes. */
import type { PluginTemplate } from "portico";

const template: PluginTemplate = {
  files: (name) => ({ "plugin.ts": pluginText(name) }),
  tryIt: (name) => `Its model answers as ${name}/demo at /v1/chat/completions.`,
};
export default template;

function pluginText(name: string): string {
  return `/**
 * ${name}: a chat provider. A save is live at once; \`portico plugins info ${name}\` shows its state.
 *
 * Its channel needs no configuration: ask for the model "${name}/demo" (or any other name after the slash).
 * To reach a real service instead, call it in \`complete\` and pass \`target.signal\` on, so that a client that leaves
 * ends the call.
 */
import { definePlugin } from "portico";
import type { ChatProvider, ChatRequest } from "portico/chat";

const provider: ChatProvider = {
  name: "${name}",
  description: "Answers in capitals",
  builtinChannel: "${name}",
  models: () => ["demo"],

  /** Text pieces; a client that asked for no stream gets them as one answer. */
  async *stream(request: ChatRequest) {
    for (const word of lastUserText(request).toUpperCase().split(/(?<= )/)) yield word;
  },

  async complete(request: ChatRequest) {
    return lastUserText(request).toUpperCase();
  },
};

function lastUserText(request: ChatRequest): string {
  const message = request.messages.findLast((one) => one.role === "user");
  const content = message?.content ?? "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}

export default definePlugin({
  name: "${name}",
  description: "An example chat provider",
  setup(ctx) {
    ctx.add("provider", provider);
  },
});
`;
}
