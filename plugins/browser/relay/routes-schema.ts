/** What the relay's routes take and answer: those of the extension, and those of DevTools clients. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, jsonResponse } from "portico/openapi";

const own = { access: "own" } as const;
const control = { access: "control" } as const;

const About = Type.Object({ Browser: Type.String(), "Protocol-Version": Type.String() });
const Targets = Type.Array(
  Type.Object({
    id: Type.String(),
    type: Type.String(),
    title: Type.String(),
    url: Type.String(),
    webSocketDebuggerUrl: Type.String(),
  }),
);

/** What DevTools clients ask for at any debugging port. */
export const devtoolsRoutes = {
  version: {
    ...own,
    summary: "The browser, for DevTools clients",
    response: jsonResponse(About),
  },
  targets: {
    ...own,
    summary: "Its targets, for DevTools clients",
    response: jsonResponse(Targets),
  },
} satisfies Record<string, RouteOptions>;

export const extensionRoutes = {
  check: {
    ...own,
    summary: "Whether the extension is paired",
    maxBodyBytes: 4096,
    body: Type.Object({ instance: Type.String({ default: "" }) }),
    response: jsonResponse(Type.Object({ ok: Type.Literal(true), version: Type.String() })),
  },
  show: {
    ...control,
    summary: "The relay's extension",
    response: jsonResponse(
      Type.Object({
        id: Type.String(),
        path: Type.String(),
        port: Type.Integer(),
        connected: Type.Boolean(),
        tabs: Type.Array(AnyObject),
      }),
    ),
  },
  pair: {
    ...control,
    summary: "Port and token for it",
    response: jsonResponse(Type.Object({ port: Type.Integer(), token: Type.String() })),
  },
} satisfies Record<string, RouteOptions>;
