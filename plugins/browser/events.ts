/** The event `browser:navigated`. */
import type { Events, PluginContext, PluginDefinition } from "portico";

export const events: PluginDefinition["events"] = {
  "browser:navigated": {
    mode: "notify",
    description: "A controlled tab navigated to another page.",
    sample: {
      profile: "portico",
      targetId: "9F1C0B7E4C0D4B6E8A5D2F3B1C7E9A60",
      url: "https://example.com/",
    },
  },
};

/** Creates a function that emits the event if a listener exists. */
export function createNavigatedEmitter(
  ctx: PluginContext,
): (event: Events["browser:navigated"]) => void {
  return (event) => {
    if (ctx.hasListeners("browser:navigated")) void ctx.emit("browser:navigated", event);
  };
}
