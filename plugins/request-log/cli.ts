/** The command `portico requests`. */
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
  key: { type: "string", value: "NAME", description: "Only requests of this client key" },
  model: { type: "string", value: "NAME", description: "Only requests for this alias or model" },
  channel: { type: "string", value: "NAME", description: "Only requests that tried this channel" },
  status: {
    type: "string",
    value: "STATUS",
    description: "Only requests with this status (429) or class of statuses (4xx, 5xx)",
  },
  outcome: {
    type: "string",
    value: "WORD",
    description: "Only requests with this outcome: ok, failed, refused or cancelled",
  },
  principal: {
    type: "string",
    value: "WHO",
    description: "Only requests of this principal, such as webhook:mail",
  },
  tag: { type: "string", value: "NAME", description: "Only requests with this tag" },
  id: { type: "string", value: "TEXT", description: "Only requests whose id contains this text" },
  hook: { type: "string", value: "NAME", description: "Only requests on which this hook ran" },
} satisfies Record<string, RouteOption>;

const LONGEST_ID = 40;

/** Written out instead of derived from its route, since `--curl` shows another part of the response. */
const show = defineCommand({
  name: "show",
  summary: "Show what happened to one request",
  args: [
    { name: "id", description: "The id of the request: the x-request-id header of its response" },
  ],
  options: {
    curl: { type: "boolean", description: "Print a curl command that sends the request again" },
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
  summary: "List requests to models, with their client, attempts, hooks, tokens and cost",
  description:
    "Lists the newest of the requests that the gateway stores in memory, including refused requests. The setting requests.keep limits how many it stores. Times are in UTC and show the start of the request. A dash means that the value is unknown.",
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
