/** `portico usage requests`. */
import { commandFor } from "portico/command-line";
import type { RequestPage, RequestView } from "../requests/page.ts";
import { usageRoutes } from "../routes-schema.ts";
import { dollars, filterOptions, keyName, rangeOptions } from "./options.ts";

const options = {
  ...rangeOptions,
  ...filterOptions,
  status: {
    type: "string",
    value: "STATUS",
    description: "only this status (429) or class (4xx, 5xx)",
  },
  limit: { type: "number", value: "N", description: "how many, up to 1000; default 50" },
  before: { type: "string", value: "NEXT", description: "the page after the one that named this" },
} as const;

export default commandFor<RequestPage>("GET /usage/requests", usageRoutes.requests, {
  name: "requests",
  summary: "Single requests, newest first",
  description:
    "Of the last 30 days, unless told otherwise, as far as they are kept (usage.requests.keep). Times are those of UTC, at the end of the answer. A dash: nobody knows.",
  options,
  examples: [
    "portico usage requests --since 1h --status 5xx",
    "portico usage requests --key ci --limit 200 --json",
  ],
  view: ({ requests, next }, io) => [
    ...io.table(
      "AT REQUEST CHANNEL MODEL KEY STATUS TRIES MS FIRST PROMPT CACHED ANSWER COST".split(" "),
      requests.map(cells),
    ),
    ...(next === undefined ? [] : [`Older ones: --before ${next}`]),
  ],
});

function cells(one: RequestView): (string | number)[] {
  return [
    one.at,
    one.requestId,
    one.channel,
    one.model,
    keyName(one.key),
    `${one.status}${one.stream ? " stream" : ""}`,
    one.attempts,
    one.ms,
    one.firstByteMs ?? "-",
    one.promptTokens ?? "-",
    one.cachedTokens ?? "-",
    one.completionTokens ?? "-",
    one.costUsd === undefined ? "-" : dollars(one.costUsd),
  ];
}
