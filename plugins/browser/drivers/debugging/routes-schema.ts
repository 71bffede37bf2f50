/** Schemas of the routes that DevTools clients request at any debugging port. */
import { type RouteOptions, Type } from "portico";
import { jsonResponse } from "portico/openapi";

const own = { access: "own" } as const;

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

export const devtoolsRoutes = {
  version: {
    ...own,
    summary: "Describe the browser to DevTools clients",
    response: jsonResponse(About),
  },
  targets: {
    ...own,
    summary: "List the browser's targets for DevTools clients",
    response: jsonResponse(Targets),
  },
} satisfies Record<string, RouteOptions>;
