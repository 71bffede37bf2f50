import type { Management } from "portico";
import { describeEvent } from "./record.ts";

/** Which events nobody emits that hooks wait for, a sentence each. */
export function unheardEvents({ hooks, events }: Pick<Management, "hooks" | "events">): string[] {
  const declared = events();
  return hooks
    .list()
    .filter(({ state }) => state === "active")
    .flatMap(({ name, meta }) =>
      (meta?.events ?? []).map((event) => ({ hook: name, ...describeEvent(event, declared) })),
    )
    .filter(({ known }) => !known)
    .map(({ hook, name, didYouMean: near }) => {
      return `${hook} is never called for ${name}: nobody emits it${near ? `; did you mean ${near}?` : ""}`;
    });
}
