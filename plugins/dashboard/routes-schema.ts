/** Requests and responses of the dashboard's routes. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, Binary, contentResponse, fileResponse, jsonResponse } from "portico/openapi";

const owner = { access: "gateway" } as const;
const page = { access: "public" } as const;

const profile = Type.Object({
  profile: Type.Optional(
    Type.String({ description: "The browser profile (default: browser.defaultProfile)" }),
  ),
});
const tab = Type.Composite([
  profile,
  Type.Object({
    targetId: Type.Optional(
      Type.String({ description: "The id of the tab (default: the tab that was used last)" }),
    ),
  }),
]);

export const dashboardRoutes = {
  page: {
    ...page,
    summary: "Open the console",
    response: fileResponse("text/html"),
  },
  file: {
    ...page,
    summary: "Get a file of the console",
    response: fileResponse(),
  },
  channels: {
    ...owner,
    summary: "Show latency and errors of the channels in the last hour",
    response: jsonResponse(
      Type.Object({
        stepMs: Type.Integer(),
        channels: Type.Record(
          Type.String(),
          Type.Object({
            latency: Type.Array(Type.Union([Type.Number(), Type.Null()])),
            failed: Type.Array(Type.Union([Type.Number(), Type.Null()])),
          }),
        ),
      }),
    ),
  },
} satisfies Record<string, RouteOptions>;

/** The routes through which the page reaches the browser. */
export const browserRoutes = {
  profiles: {
    ...owner,
    summary: "List the browser's profiles",
    query: profile,
    response: jsonResponse(Type.Object({ profiles: Type.Array(AnyObject) })),
  },
  tabs: {
    ...owner,
    summary: "List the browser's tabs",
    query: profile,
    response: jsonResponse(Type.Object({ running: Type.Boolean(), tabs: Type.Array(AnyObject) })),
  },
  screenshot: {
    ...owner,
    summary: "Take a JPEG screenshot of a tab",
    query: tab,
    response: contentResponse("image/jpeg", Binary),
  },
  start: {
    ...owner,
    summary: "Start the browser",
    changes: false,
    query: profile,
    body: null,
    response: jsonResponse(Type.Object({ ok: Type.Literal(true), profile: Type.String() })),
  },
  stop: {
    ...owner,
    summary: "Stop the browser",
    changes: false,
    query: profile,
    body: null,
    response: jsonResponse(Type.Object({ ok: Type.Literal(true), stopped: Type.Boolean() })),
  },
} satisfies Record<string, RouteOptions>;
