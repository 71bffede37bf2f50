/** What commands have in common that list a long record in pages, the newest entry first. */
import type { RouteOption } from "./route-command.ts";

export const periodOptions = {
  since: {
    type: "string",
    value: "TIME",
    description: "from this date, or this long ago: 90m, 7d",
  },
  until: { type: "string", value: "TIME", description: "up to this date, or this long ago" },
} satisfies Record<string, RouteOption>;

export const pageOptions = {
  limit: { type: "number", value: "N", description: "how many, up to 1000; default 50" },
  before: { type: "string", value: "NEXT", description: "the `next` value of the previous page" },
} satisfies Record<string, RouteOption>;

/** Says how to see the next page; nothing after the last one. */
export function nextPageLines(next: string | undefined): string[] {
  return next === undefined ? [] : [`For older ones: --before ${next}`];
}
