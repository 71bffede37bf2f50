/** `portico requests`. */
import {
  commandFor,
  defineCommand,
  nextPageLines,
  pageOptions,
  periodOptions,
  type RouteOption,
} from "portico/command-line";
import { shorten } from "portico/strings";
import type { RequestPage } from "./pages.ts";
import { requestRoutes } from "./routes-schema.ts";
import { dollars, timeline } from "./timeline.ts";
import type { RequestDetails, RequestView } from "./view.ts";

const filters = {
  key: { type: "string", value: "NAME", description: "only of this client key" },
  model: { type: "string", value: "NAME", description: "only this alias or model" },
  channel: { type: "string", value: "NAME", description: "only those that tried this channel" },
  status: {
    type: "string",
    value: "STATUS",
    description: "only this status (429) or class (4xx, 5xx)",
  },
  outcome: {
    type: "string",
    value: "WORD",
    description: "only ok, failed, refused or cancelled ones",
  },
  principal: { type: "string", value: "WHO", description: "only of this principal: webhook:mail" },
  tag: { type: "string", value: "NAME", description: "only with this tag" },
  id: { type: "string", value: "TEXT", description: "only those whose id contains this text" },
} satisfies Record<string, RouteOption>;

const LONGEST_ID = 40;

/** Not made of its route alone, since `--curl` shows another part of the response. */
const show = defineCommand({
  name: "show",
  summary: "What happened to one request",
  args: [{ name: "id", description: "its id: the x-request-id of the response" }],
  options: {
    curl: { type: "boolean", description: "Print a curl command that sends it again" },
  },
  examples: ["portico requests show req_4f0c2a --json", "portico requests show req_4f0c2a --curl"],
  async run(io) {
    const path = `/requests/${encodeURIComponent(io.args["id"] ?? "")}`;
    const request = await io.gateway.request<RequestDetails>("GET", path);
    if (io.options["curl"] !== true) return io.show(request, timeline);
    if (request.curl === undefined)
      throw new Error(
        "There is no curl command for this request: it did not send messages to a model over HTTP.",
      );
    io.show({ curl: request.curl }, ({ curl }) => curl);
  },
});

export default commandFor<RequestPage>("GET /requests", requestRoutes.list, {
  name: "requests",
  summary: "Requests for models: who asked, each attempt, hooks, tokens and cost",
  description:
    "Lists the newest requests, refused ones too, as far as the gateway keeps them (requests.keep). Times are in UTC and show the start of the request. A dash means that the value is unknown.",
  options: { ...filters, ...periodOptions, ...pageOptions },
  examples: [
    "portico requests --key ci --status 5xx",
    "portico requests --outcome refused --since 1h",
    "portico requests show req_4f0c2a",
  ],
  commands: [show],
  view: ({ requests, next }, io) => [
    ...io.table(
      "AT REQUEST KEY ALIAS CHANNEL MODEL STATUS TRIES MS TOKENS COST".split(" "),
      requests.map(cells),
    ),
    ...nextPageLines(next),
  ],
});

function cells(request: RequestView): (string | number)[] {
  const { promptTokens, completionTokens, costUsd } = request;
  const tokens = promptTokens === undefined ? "-" : `${promptTokens}+${completionTokens ?? 0}`;
  return [
    request.at,
    shorten(request.id, LONGEST_ID),
    request.key ?? `(${request.principal})`,
    request.alias ?? "-",
    request.channel ?? "-",
    request.model ?? "-",
    `${request.status}${request.stream === true ? " stream" : ""}`,
    request.attempts.length,
    request.ms,
    tokens,
    costUsd === undefined ? "-" : dollars(costUsd),
  ];
}
