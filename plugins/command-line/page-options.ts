/** Options of commands that list entries in pages, newest first. */
import type { RouteOption } from "./route-command.ts";

export const periodOptions = {
  since: {
    type: "string",
    value: "TIME",
    description: "Only entries since this date, or since this long ago, such as 90m or 7d",
  },
  until: {
    type: "string",
    value: "TIME",
    description: "Only entries until this date, or until this long ago, such as 7d",
  },
} satisfies Record<string, RouteOption>;

export const pageOptions = {
  limit: {
    type: "number",
    value: "N",
    description: "The number of entries, at most 1000 (default: 50)",
  },
  before: { type: "string", value: "NEXT", description: "The `next` value of the previous page" },
} satisfies Record<string, RouteOption>;

/** Returns a line that says how to see the next page, or nothing after the last page. */
export function nextPageLines(next: string | undefined): string[] {
  return next === undefined ? [] : [`To see older entries, pass --before ${next}`];
}
