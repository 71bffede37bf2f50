/** Derives commands from routes: each sends one request and shows the response. */
import type { Method, RouteOptions, TSchema } from "portico";
import type { ArgSpec, Command, CommandIO, OptionSpec } from "./command.ts";

/** A route's method and path, such as `GET /turns/:id`. */
export type RoutePlace = `${Method} /${string}`;

/** The part of a route's declaration from which a command is derived. */
export interface DeclaredRoute extends Pick<RouteOptions, "summary" | "query" | "body"> {
  /** The server on which the route is mounted. Default: the gateway's own. */
  server?: string;
}

/** The member that an argument or an option sets. Without a value, it sets nothing. */
interface MemberSetter {
  /** Default: the name of the argument or option. */
  member?: string;
  /** Converts the user's input to the member's value. Throw an Error if the input is invalid. */
  read?(value: never): unknown;
  /** The member's value if the user typed none. */
  fallback?: unknown;
}

/** An argument that sets a parameter of the path, or a member of the query or the body. */
export interface RouteArgument extends ArgSpec, MemberSetter {}

/** An option that sets a member of the query or the body. Missing fields come from that member's schema. */
export interface RouteOption extends Partial<OptionSpec>, MemberSetter {}

export interface RouteCommand<Result>
  extends Pick<Command, "name" | "description" | "examples" | "commands"> {
  /** Default: the route's summary. */
  summary?: string;
  /**
   * Values that the command always sends: parameters of the path, members of the query or the body. A command for one of
   * several kinds that a route accepts sets the kind here.
   */
  constants?: Readonly<Record<string, string>>;
  /** The first arguments fill the path's parameters in order. Further ones set members. */
  args?: readonly RouteArgument[];
  /**
   * Each member of the query that neither a constant nor an argument sets is an option, under its own name or under one
   * listed here. A member of the body is an option only if it is listed here, since many bodies have members that no single
   * word can express. If several options set the same member, the last one counts.
   */
  options?: Record<string, RouteOption>;
  /** Returns all members, and replaces those that constants, arguments and options would set. */
  members?(io: CommandIO): Record<string, unknown>;
  headers?: Record<string, string>;
  /** Printed while the gateway works. */
  progress?: string | ((io: CommandIO) => string);
  timeoutMs?: number;
  /** Returns the lines to print. With `--json`, the unchanged response is printed instead. */
  view(result: Result, io: CommandIO): string | readonly string[];
  /** Returns the reason if the command failed although the gateway responded, else `undefined`. */
  failure?(result: Result): string | undefined;
}

/** Creates a command from a route and a view of its response. */
export function commandFor<Result>(
  place: RoutePlace,
  route: DeclaredRoute,
  command: RouteCommand<Result>,
): Command {
  const options = collectOptions(route, command);
  return {
    name: command.name,
    summary: command.summary ?? route.summary ?? "",
    description: command.description,
    examples: command.examples,
    commands: command.commands,
    args: command.args,
    options: Object.fromEntries(options.map(({ name, spec }) => [name, spec])),
    route: place,
    ...(route.server !== undefined && { server: route.server }),
    async run(io) {
      const request = buildRequest(place, route, command, options, io);
      const { method, path, query, body } = request;
      const { headers, timeoutMs, progress } = command;
      if (progress !== undefined)
        io.progress(typeof progress === "string" ? progress : progress(io));
      const result = await io.gateway.request<Result>(method, path, body, {
        query,
        ...(route.server !== undefined && { server: route.server }),
        ...(headers && { headers }),
        ...(timeoutMs !== undefined && { timeoutMs }),
      });
      io.show(result, () => command.view(result, io));
      const failure = command.failure?.(result);
      if (failure !== undefined) throw new Error(failure);
    },
  };
}

interface NamedOption extends MemberSetter {
  name: string;
  member: string;
  spec: OptionSpec;
}

function collectOptions(route: DeclaredRoute, command: RouteCommand<never>): NamedOption[] {
  const inQuery = membersOf(route.query);
  const schemas = { ...membersOf(route.body), ...inQuery };
  const listedOptions = Object.entries(command.options ?? {}).map(
    ([name, { member = name, read, fallback, ...spec }]) => ({
      name,
      member,
      read,
      fallback,
      spec: completeSpec(spec, specFromSchema(schemas[member])),
    }),
  );
  const alreadySet = new Set([
    ...Object.keys(command.constants ?? {}),
    ...(command.args ?? []).map(({ name, member = name }) => member),
    ...listedOptions.map(({ member }) => member),
  ]);
  const queryOptions = Object.entries(inQuery)
    .filter(([member]) => !alreadySet.has(member))
    .map(([member, schema]) => ({ name: member, member, spec: specFromSchema(schema) }));
  return [...listedOptions, ...queryOptions];
}

/** Adds missing fields from the member's schema. An option with a type of its own gets only the description. */
function completeSpec(ownSpec: Partial<OptionSpec>, memberSpec: OptionSpec): OptionSpec {
  const { description } = memberSpec;
  return ownSpec.type === undefined
    ? { ...memberSpec, ...ownSpec }
    : { description, type: ownSpec.type, ...ownSpec };
}

/** Returns the members that a route declares. A lazy declaration has none yet, so its command lists its options in full. */
function membersOf(declared: RouteOptions["query"] | null): Record<string, TSchema> {
  if (!declared || typeof declared === "function") return {};
  return (declared["properties"] as Record<string, TSchema> | undefined) ?? {};
}

/** Derives an option from the schema of its member. */
function specFromSchema(schema: TSchema | undefined): OptionSpec {
  const description = (schema?.["description"] as string | undefined) ?? "";
  const choices = stringChoices(schema);
  if (schema?.["type"] === "boolean" || choices?.join() === "true,false")
    return { type: "boolean", description };
  if (choices) return { type: "string", choices, description };
  if (schema?.["type"] === "integer" || schema?.["type"] === "number")
    return { type: "number", value: "N", description };
  return { type: schema?.["type"] === "array" ? "list" : "string", description };
}

/** Returns the strings of a union of literals, or `undefined` for any other schema. */
function stringChoices(schema: TSchema | undefined): string[] | undefined {
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

function buildRequest(
  place: RoutePlace,
  route: DeclaredRoute,
  command: RouteCommand<never>,
  options: readonly NamedOption[],
  io: CommandIO,
): RouteRequest {
  const [method = "GET", pattern = "/"] = place.split(" ");
  const members = Object.entries(
    command.members?.(io) ?? collectMembers(pattern, command, options, io),
  ).filter(([, value]) => value !== undefined);
  const inQuery = membersOf(route.query);
  const isInQuery = (name: string) => !route.body || Object.hasOwn(inQuery, name);
  const membersWhere = (keep: (name: string) => boolean) =>
    Object.fromEntries(members.filter(([name]) => keep(name)));
  return {
    method,
    path: buildPath(pattern, command, io),
    query: membersWhere(isInQuery) as RouteRequest["query"],
    body: route.body ? membersWhere((name) => !isInQuery(name)) : undefined,
  };
}

const PARAMETER = /:(\w+)/g;

function pathParameters(pattern: string): string[] {
  return [...pattern.matchAll(PARAMETER)].map(([, name]) => name as string);
}

/** Returns the path parameters that no constant fills. */
function unfilledParameters(pattern: string, { constants }: RouteCommand<never>): string[] {
  return pathParameters(pattern).filter((name) => !Object.hasOwn(constants ?? {}, name));
}

function buildPath(pattern: string, command: RouteCommand<never>, io: CommandIO): string {
  const parameters: Record<string, unknown> = { ...command.constants };
  for (const [index, name] of unfilledParameters(pattern, command).entries())
    parameters[name] = argumentValue(command.args?.[index], io);
  return pattern.replace(PARAMETER, (_, name) =>
    encodeURIComponent(String(parameters[name] ?? "")),
  );
}

/** Collects the members that constants, arguments and options set. */
function collectMembers(
  pattern: string,
  command: RouteCommand<never>,
  options: readonly NamedOption[],
  io: CommandIO,
): Record<string, unknown> {
  const { constants = {}, args = [] } = command;
  const inPath = pathParameters(pattern);
  const memberArguments = args.slice(unfilledParameters(pattern, command).length);
  const members = [
    ...Object.entries(constants).filter(([name]) => !inPath.includes(name)),
    ...memberArguments.map((spec) => [spec.member ?? spec.name, argumentValue(spec, io)] as const),
    ...options.map((spec) => [spec.member, readValue(spec, io.options[spec.name])] as const),
  ];
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function argumentValue(argument: RouteArgument | undefined, io: CommandIO): unknown {
  if (!argument) return undefined;
  return readValue(argument, argument.rest ? io.args.rest : io.args[argument.name]);
}

function readValue({ read, fallback }: MemberSetter, value: unknown): unknown {
  if (value === undefined) return fallback;
  return read === undefined ? value : read(value as never);
}
