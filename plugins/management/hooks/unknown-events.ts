import type { Management } from "portico";
import { describeEvent } from "./record.ts";

/** Returns a sentence for each event that an active hook handles and no plugin emits. */
export function findUnknownEvents({
  hooks,
  events,
}: Pick<Management, "hooks" | "events">): string[] {
  const declared = events();
  return hooks
    .standings() // full records of disabled hooks would double the time of a status
    .filter(({ state }) => state === "active")
    .flatMap(({ name }) =>
      (hooks.info(name).meta?.events ?? []).map((event) => ({
        hook: name,
        ...describeEvent(event, declared),
      })),
    )
    .filter(({ known }) => !known)
    .map(({ hook, name, didYouMean: suggestion }) => {
      return `${hook} is never called for ${name}: no plugin emits it${suggestion ? `; did you mean ${suggestion}?` : ""}`;
    });
}
