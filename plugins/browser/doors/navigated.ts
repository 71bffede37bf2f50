/** The event `browser:navigated`. */
import type { Events, PluginContext } from "portico";

/** Declares it; the answer tells those who listen. */
export function declareNavigated(ctx: PluginContext): (event: Events["browser:navigated"]) => void {
  ctx.event("browser:navigated", {
    mode: "notify",
    description: "A tab under control shows another page.",
    sample: { profile: "portico", targetId: "9F1C0B7E4C0D4B6E8A5D2F3B1C7E9A60", url: "https://example.com/" },
  });
  return (event) => {
    if (ctx.hasListeners("browser:navigated")) void ctx.emit("browser:navigated", event);
  };
}
