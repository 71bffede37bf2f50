/** Options of commands that list rows in pages, newest first. */
import type { RouteOption } from "./route-command.ts";

export const periodOptions = {
  since: {
    type: "string",
    value: "TIME",
    description: "Only what happened since this time: a date, or how long ago, such as 90m or 7d",
  },
  until: {
    type: "string",
    value: "TIME",
    description: "Only what happened until this time: a date, or how long ago, such as 7d",
  },
} satisfies Record<string, RouteOption>;

export const pageOptions = {
  limit: {
    type: "number",
    value: "N",
    description: "The number of rows, at most 1000 (default: 50)",
  },
  before: { type: "string", value: "NEXT", description: "The `next` value of the previous page" },
} satisfies Record<string, RouteOption>;

/** Returns a line that says how to see the next page, or nothing after the last page. */
export function nextPageLines(next: string | undefined): string[] {
  return next === undefined ? [] : [`To see older rows, pass --before ${next}`];
}
