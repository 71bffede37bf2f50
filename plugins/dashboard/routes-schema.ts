/** What the dashboard's routes take and answer. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, Binary, contentResponse, fileResponse, jsonResponse } from "portico/openapi";

const owner = { access: "gateway" } as const;
const page = { access: "public" } as const;

const profile = Type.Object({
  profile: Type.Optional(Type.String({ description: "Default: the default profile" })),
});
const tab = Type.Composite([
  profile,
  Type.Object({
    targetId: Type.Optional(Type.String({ description: "Default: the tab that was used last" })),
  }),
]);

export const dashboardRoutes = {
  page: {
    ...page,
    summary: "The dashboard",
    response: fileResponse("text/html"),
  },
  file: {
    ...page,
    summary: "A file of the dashboard",
    response: fileResponse(),
  },
  channels: {
    ...owner,
    summary: "The channels' last hour",
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

/** What the page may ask of the browser. */
export const browserRoutes = {
  profiles: {
    ...owner,
    summary: "The browser's profiles",
    query: profile,
    response: jsonResponse(Type.Object({ profiles: Type.Array(AnyObject) })),
  },
  tabs: {
    ...owner,
    summary: "The browser's tabs",
    query: profile,
    response: jsonResponse(Type.Object({ running: Type.Boolean(), tabs: Type.Array(AnyObject) })),
  },
  screenshot: {
    ...owner,
    summary: "What a tab shows, as JPEG",
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
