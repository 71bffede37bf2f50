/** Commands that send one request and show its response: made from what the route declares. */
import type { Method, RouteOptions, TSchema } from "portico";
import type { ArgSpec, Command, CommandIO, OptionSpec } from "./command.ts";

/** Where a route is mounted: `GET /turns/:id`. */
type RoutePlace = `${Method} /${string}`;

/** The part of a route's declaration that a command is made from. */
type DeclaredRoute = Pick<RouteOptions, "summary" | "query" | "body">;

/** An option that sets a member of the query or the body. What it leaves out is taken from that member's schema. */
export interface RouteOption extends Partial<OptionSpec> {
  /** Default: the option's own name. */
  member?: string;
  /** Turns the option's value into the member's. Throw an Error for a value that is wrong. */
  read?(value: never): unknown;
  /** The member's value where the option is not given. */
  fallback?: unknown;
}

export interface RouteCommand<Result>
  extends Pick<Command, "name" | "description" | "examples" | "commands"> {
  /** Default: the route's summary. */
  summary?: string;
  /** The first ones fill the path's parameters in order, further ones the members of their name. */
  args?: readonly ArgSpec[];
  /**
   * Each member of the query is an option, by its own name or by one listed here. A member of the body is one only if it
   * is listed here, since many bodies have members that no single word can say.
   */
  options?: Record<string, RouteOption>;
  /** All members, in place of those that arguments and options would set one by one. */
  members?(io: CommandIO): Record<string, unknown>;
  headers?: Record<string, string>;
  /** Printed while the gateway works. */
  progress?: string | ((io: CommandIO) => string);
  timeoutMs?: number;
  /** The lines for a person; with `--json` the response is printed as it is. */
  view(result: Result, io: CommandIO): string | readonly string[];
  /** Why the command fails although the gateway responded; `undefined` if it does not. */
  failure?(result: Result): string | undefined;
}

/** Makes a command from a route and from what a person is shown of its response. */
export function commandFor<Result>(
  place: RoutePlace,
  route: DeclaredRoute,
  command: RouteCommand<Result>,
): Command {
  const options = optionsOf(route, command.options ?? {});
  return {
    name: command.name,
    summary: command.summary ?? route.summary ?? "",
    description: command.description,
    examples: command.examples,
    commands: command.commands,
    args: command.args,
    options: Object.fromEntries(options.map(({ name, spec }) => [name, spec])),
    route: place,
    async run(io) {
      const request = requestOf(place, route, command, options, io);
      const { method, path, query, body } = request;
      const { headers, timeoutMs, progress } = command;
      if (progress !== undefined)
        io.progress(typeof progress === "string" ? progress : progress(io));
      const result = await io.gateway.request<Result>(method, path, body, {
        query,
        ...(headers && { headers }),
        ...(timeoutMs !== undefined && { timeoutMs }),
      });
      io.show(result, () => command.view(result, io));
      const failure = command.failure?.(result);
      if (failure !== undefined) throw new Error(failure);
    },
  };
}

interface NamedOption {
  name: string;
  member: string;
  spec: OptionSpec;
  read?(value: never): unknown;
  fallback?: unknown;
}

function optionsOf(
  route: DeclaredRoute,
  listed: Readonly<Record<string, RouteOption>>,
): NamedOption[] {
  const inQuery = membersOf(route.query);
  const schemas = { ...membersOf(route.body), ...inQuery };
  const named = Object.entries(listed).map(
    ([name, { member = name, read, fallback, ...spec }]) => ({
      name,
      member,
      read,
      fallback,
      spec: { ...specOf(schemas[member]), ...spec },
    }),
  );
  const setByName = new Set(named.map(({ member }) => member));
  const further = Object.entries(inQuery)
    .filter(([member]) => !setByName.has(member))
    .map(([member, schema]) => ({ name: member, member, spec: specOf(schema) }));
  return [...named, ...further];
}

/** The members that a route declares. Declarations that are loaded later have none yet: their options are listed in full. */
function membersOf(declared: RouteOptions["query"] | null): Record<string, TSchema> {
  if (!declared || typeof declared === "function") return {};
  return (declared["properties"] as Record<string, TSchema> | undefined) ?? {};
}

/** The form of an option whose value the schema takes. */
function specOf(schema: TSchema | undefined): OptionSpec {
  const description = (schema?.["description"] as string | undefined) ?? "";
  const choices = choicesOf(schema);
  if (schema?.["type"] === "boolean" || choices?.join() === "true,false")
    return { type: "boolean", description };
  if (choices) return { type: "string", choices, description };
  if (schema?.["type"] === "integer" || schema?.["type"] === "number")
    return { type: "number", value: "N", description };
  return { type: schema?.["type"] === "array" ? "list" : "string", description };
}

/** The texts of a union of literals; `undefined` for any other schema. */
function choicesOf(schema: TSchema | undefined): string[] | undefined {
  const variants = (schema?.["anyOf"] ?? []) as readonly TSchema[];
  const texts = variants.map((variant) => variant["const"] as unknown);
  const areTexts = texts.length > 0 && texts.every((text) => typeof text === "string");
  return areTexts ? (texts as string[]) : undefined;
}

interface RouteRequest {
  method: string;
  path: string;
  query: Record<string, string | number | boolean | undefined>;
  body: Record<string, unknown> | undefined;
}

function requestOf(
  place: RoutePlace,
  route: DeclaredRoute,
  command: RouteCommand<never>,
  options: readonly NamedOption[],
  io: CommandIO,
): RouteRequest {
  const [method = "GET", pattern = "/"] = place.split(" ");
  const parameters = [...pattern.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const names = (command.args ?? []).map(({ name }) => name);
  const values = parameters.map((_, index) => io.args[names[index] as string] ?? "");
  const path = pattern.replace(/:\w+/g, () => encodeURIComponent(values.shift() ?? ""));
  const further = names.slice(parameters.length).map((name) => [name, io.args[name]] as const);
  const set = options.map((option) => [option.member, memberValue(option, io)] as const);
  const members = command.members?.(io) ?? Object.fromEntries([...further, ...set]);
  const inQuery = membersOf(route.query);
  const isInQuery = (name: string) => !route.body || Object.hasOwn(inQuery, name);
  const part = (keep: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(members).filter(([name]) => keep(name)));
  return {
    method,
    path,
    query: part(isInQuery) as RouteRequest["query"],
    body: route.body ? part((name) => !isInQuery(name)) : undefined,
  };
}

function memberValue({ name, read, fallback }: NamedOption, io: CommandIO): unknown {
  const value = io.options[name];
  if (value === undefined) return fallback;
  return read === undefined ? value : read(value as never);
}
