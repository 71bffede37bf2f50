/** Mounts the control API on its server, with one thin handler for all routes. */
import {
  type Call,
  type Method,
  type Mount,
  reply,
  type RouteOptions,
  type TSchema,
} from "portico";
import { inputOf, ROUTES } from "../declarations/routes.ts";
import { errors } from "../errors.ts";
import type { BrowserRequest } from "../types.ts";
import type { Targets } from "../targets/targets.ts";

export function mountRoutes(server: Mount, targets: Pick<Targets, "route">): void {
  for (const route of ROUTES) {
    const { method, path, name, summary, response, isLasting } = route;
    const options: RouteOptions = {
      access: "control",
      summary,
      ...inputOf(route),
      ...(name === "POST /act" && { body: loadActionBody }),
      optionalBody: true,
      response,
      // the process that has the browser validates the input: this one, a node or another worker
      checkedBy: "handler",
      ...(isLasting ? {} : { changes: false as const }),
    };
    server.route(method, path, options, (call) => respond(call, method, path, targets));
  }
}

async function loadActionBody(): Promise<TSchema> {
  return (await import("./action-body.ts")).describeActionBody();
}

async function respond(
  call: Call,
  method: Method,
  route: string,
  targets: Pick<Targets, "route">,
): Promise<unknown> {
  const body = method === "POST" ? await bodyOf(call) : undefined;
  const response = await targets.route({
    method,
    route,
    params: call.params,
    query: queryRecordOf(call.query),
    accept: call.req.headers.accept ?? "",
    body,
  });
  if ("body" in response) return response.body;
  return reply(200, response.bytes, { "content-type": response.type });
}

/**
 * Converts the query to a record. A name that occurs several times has a list; a route that accepts no list uses the
 * first value.
 */
function queryRecordOf(query: URLSearchParams): NonNullable<BrowserRequest["query"]> {
  const entries = [...new Set(query.keys())].map((name) => {
    const [first = "", ...more] = query.getAll(name);
    return [name, more.length > 0 ? [first, ...more] : first] as const;
  });
  return Object.fromEntries(entries);
}

/** Reads the body as a JSON object. An empty body counts as an empty object. */
async function bodyOf(call: Call): Promise<Record<string, unknown>> {
  const value = await call.json();
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw errors.bodyNotObject();
}
