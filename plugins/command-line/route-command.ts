/** Commands that send one request and show its response: made from what the route declares. */
import type { Method, RouteOptions, TSchema } from "portico";
import type { ArgSpec, Command, CommandIO, OptionSpec } from "./command.ts";

/** Where a route is mounted: `GET /turns/:id`. */
export type RoutePlace = `${Method} /${string}`;

/** The part of a route's declaration that a command is made from. */
export interface DeclaredRoute extends Pick<RouteOptions, "summary" | "query" | "body"> {
  /** The server on which the route is mounted. Default: the gateway's own. */
  server?: string;
}

/** What an argument or an option sets. Where it has no value, it sets nothing. */
interface SetsMember {
  /** Default: the name of the argument or option. */
  member?: string;
  /** Turns what the user typed into the member's value. Throw an Error for a value that is wrong. */
  read?(value: never): unknown;
  /** The member's value where the user typed none. */
  fallback?: unknown;
}

/** An argument that sets a parameter of the path, or a member of the query or the body. */
export interface RouteArgument extends ArgSpec, SetsMember {}

/** An option that sets a member of the query or the body. What it leaves out is taken from that member's schema. */
export interface RouteOption extends Partial<OptionSpec>, SetsMember {}

export interface RouteCommand<Result>
  extends Pick<Command, "name" | "description" | "examples" | "commands"> {
  /** Default: the route's summary. */
  summary?: string;
  /**
   * What the command always sends: parameters of the path, members of the query or the body. A command for one kind of
   * what a route takes says the kind here.
   */
  constants?: Readonly<Record<string, string>>;
  /** The first ones fill the path's parameters in order, further ones set members. */
  args?: readonly RouteArgument[];
  /**
   * Each member of the query that neither a constant nor an argument sets is an option, by its own name or by one listed
   * here. A member of the body is one only if it is listed here, since many bodies have members that no single word can
   * say. Of several options that set one member, the last one counts.
   */
  options?: Record<string, RouteOption>;
  /** All members, in place of those that constants, arguments and options would set one by one. */
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
  const options = optionsOf(route, command);
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
      const request = requestOf(place, route, command, options, io);
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

interface NamedOption extends SetsMember {
  name: string;
  member: string;
  spec: OptionSpec;
}

function optionsOf(route: DeclaredRoute, command: RouteCommand<never>): NamedOption[] {
  const inQuery = membersOf(route.query);
  const schemas = { ...membersOf(route.body), ...inQuery };
  const listed = Object.entries(command.options ?? {}).map(
    ([name, { member = name, read, fallback, ...spec }]) => ({
      name,
      member,
      read,
      fallback,
      spec: completeSpec(spec, specOf(schemas[member])),
    }),
  );
  const alreadySet = new Set([
    ...Object.keys(command.constants ?? {}),
    ...(command.args ?? []).map(({ name, member = name }) => member),
    ...listed.map(({ member }) => member),
  ]);
  const further = Object.entries(inQuery)
    .filter(([member]) => !alreadySet.has(member))
    .map(([member, schema]) => ({ name: member, member, spec: specOf(schema) }));
  return [...listed, ...further];
}

/** An option with a type of its own takes no choices from the schema of its member. */
function completeSpec(own: Partial<OptionSpec>, ofMember: OptionSpec): OptionSpec {
  const { description } = ofMember;
  return own.type === undefined ? { ...ofMember, ...own } : { description, type: own.type, ...own };
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
  const members = Object.entries(
    command.members?.(io) ?? membersOfWords(pattern, command, options, io),
  ).filter(([, value]) => value !== undefined);
  const inQuery = membersOf(route.query);
  const isInQuery = (name: string) => !route.body || Object.hasOwn(inQuery, name);
  const part = (keep: (name: string) => boolean) =>
    Object.fromEntries(members.filter(([name]) => keep(name)));
  return {
    method,
    path: pathOf(pattern, command, io),
    query: part(isInQuery) as RouteRequest["query"],
    body: route.body ? part((name) => !isInQuery(name)) : undefined,
  };
}

const PARAMETER = /:(\w+)/g;

function parametersOf(pattern: string): string[] {
  return [...pattern.matchAll(PARAMETER)].map(([, name]) => name as string);
}

/** Those parameters of the path that no constant fills. */
function parametersOfArguments(pattern: string, { constants }: RouteCommand<never>): string[] {
  return parametersOf(pattern).filter((name) => !Object.hasOwn(constants ?? {}, name));
}

function pathOf(pattern: string, command: RouteCommand<never>, io: CommandIO): string {
  const parameters: Record<string, unknown> = { ...command.constants };
  for (const [index, name] of parametersOfArguments(pattern, command).entries())
    parameters[name] = argumentValue(command.args?.[index], io);
  return pattern.replace(PARAMETER, (_, name) =>
    encodeURIComponent(String(parameters[name] ?? "")),
  );
}

/** Members that constants, arguments and options set one by one. */
function membersOfWords(
  pattern: string,
  command: RouteCommand<never>,
  options: readonly NamedOption[],
  io: CommandIO,
): Record<string, unknown> {
  const { constants = {}, args = [] } = command;
  const inPath = parametersOf(pattern);
  const further = args.slice(parametersOfArguments(pattern, command).length);
  const members = [
    ...Object.entries(constants).filter(([name]) => !inPath.includes(name)),
    ...further.map((spec) => [spec.member ?? spec.name, argumentValue(spec, io)] as const),
    ...options.map((spec) => [spec.member, readValue(spec, io.options[spec.name])] as const),
  ];
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function argumentValue(argument: RouteArgument | undefined, io: CommandIO): unknown {
  if (!argument) return undefined;
  return readValue(argument, argument.rest ? io.args.rest : io.args[argument.name]);
}

function readValue({ read, fallback }: SetsMember, value: unknown): unknown {
  if (value === undefined) return fallback;
  return read === undefined ? value : read(value as never);
}
