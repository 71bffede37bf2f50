import type { Management } from "portico";
import { describeEvent } from "./record.ts";

/** Describes the events that hooks wait for and no plugin emits, in a sentence each. */
export function unheardEvents({ hooks, events }: Pick<Management, "hooks" | "events">): string[] {
  const declared = events();
  return hooks
    .standings() // whole records of those that are off take as long as the rest of a status
    .filter(({ state }) => state === "active")
    .flatMap(({ name }) =>
      (hooks.info(name).meta?.events ?? []).map((event) => ({
        hook: name,
        ...describeEvent(event, declared),
      })),
    )
    .filter(({ known }) => !known)
    .map(({ hook, name, didYouMean: near }) => {
      return `${hook} is never called for ${name}: no plugin emits it${near ? `; did you mean ${near}?` : ""}`;
    });
}
