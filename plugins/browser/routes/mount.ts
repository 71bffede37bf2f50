/** The control API on its server: one thin handler for all routes. */
import { type Call, type Method, type Mount, reply, type RouteOptions } from "portico";
import { errors } from "../errors.ts";
import { PATHS } from "../paths.ts";
import { SUMMARIES } from "./summaries.ts";
import type { BrowserRequest } from "../types.ts";
import type { Targets } from "../targets/targets.ts";

/** What outlasts the use of a browser. The rest shows pages and works in them. */
const LASTING = new Set(["POST /profiles/create", "DELETE /profiles/:name", "POST /reset-profile"]);

export function mountRoutes(server: Mount, targets: Pick<Targets, "route">): void {
  for (const [method, path] of PATHS) {
    const described = async () => (await import("./described.ts")).describeInput(method, path);
    const params = async () => (await described()).params;
    const query = async () => (await described()).query;
    const body = method === "POST" ? async () => (await described()).body : null;
    const name = `${method} ${path}`;
    const options: RouteOptions = {
      access: "control",
      summary: SUMMARIES[name] ?? name,
      params,
      query,
      body,
      optionalBody: true,
      response: async () => (await import("./responses.ts")).responseOf(name),
      // the process that has the browser checks: this one, a node or another process
      checkedBy: "handler",
      ...(LASTING.has(name) ? {} : { changes: false as const }),
    };
    server.route(method, path, options, (call) => answer(call, method, path, targets));
  }
}

async function answer(
  call: Call,
  method: Method,
  route: string,
  targets: Pick<Targets, "route">,
): Promise<unknown> {
  const body = method === "POST" ? await bodyOf(call) : undefined;
  const answered = await targets.route({
    method,
    route,
    params: call.params,
    query: textsOf(call.query),
    accept: call.req.headers.accept ?? "",
    body,
  });
  if ("body" in answered) return answered.body;
  return reply(200, answered.bytes, { "content-type": answered.type });
}

/** A name that occurs several times has a list, of which a route that takes no list takes the first. */
function textsOf(query: URLSearchParams): NonNullable<BrowserRequest["query"]> {
  const entries = [...new Set(query.keys())].map((name) => {
    const [first = "", ...more] = query.getAll(name);
    return [name, more.length > 0 ? [first, ...more] : first] as const;
  });
  return Object.fromEntries(entries);
}

/** A JSON object; nothing at all counts as an empty one. */
async function bodyOf(call: Call): Promise<Record<string, unknown>> {
  const value = await call.json();
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw errors.bodyNotObject();
}
