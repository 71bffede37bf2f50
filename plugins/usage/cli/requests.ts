/** The command `portico usage requests`. */
import { commandFor, nextPageLines, pageOptions } from "portico/command-line";
import type { RequestPage, RequestView } from "../requests/page.ts";
import { usageRoutes } from "../routes-schema.ts";
import { dollars, filterOptions, keyName, rangeOptions } from "./options.ts";

const options = {
  ...rangeOptions,
  ...filterOptions,
  status: {
    type: "string",
    value: "STATUS",
    description: "Only requests with this status (429) or class of statuses (4xx, 5xx)",
  },
  ...pageOptions,
} as const;

export default commandFor<RequestPage>("GET /usage/requests", usageRoutes.requests, {
  name: "requests",
  summary: "List individual requests, newest first",
  description:
    "Lists the stored requests (usage.requests.keep), by default those of the last 30 days. Times are in UTC and show the end of the response. A dash means that the value is unknown.",
  options,
  examples: [
    "portico usage requests --since 1h --status 5xx",
    "portico usage requests --key ci --limit 200 --json",
  ],
  view: ({ requests, next }, io) => [
    ...io.table(
      "AT REQUEST CHANNEL MODEL KEY STATUS TRIES MS TTFB PROMPT-TOK CACHED-TOK OUTPUT-TOK COST".split(
        " ",
      ),
      requests.map(cells),
    ),
    ...nextPageLines(next),
  ],
});

function cells(request: RequestView): (string | number)[] {
  return [
    request.at,
    request.requestId,
    request.channel,
    request.model,
    keyName(request.key),
    `${request.status}${request.stream ? " stream" : ""}`,
    request.attempts,
    request.ms,
    request.firstByteMs ?? "-",
    request.promptTokens ?? "-",
    request.cachedTokens ?? "-",
    request.completionTokens ?? "-",
    request.costUsd === undefined ? "-" : dollars(request.costUsd),
  ];
}
