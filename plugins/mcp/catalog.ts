/**
 * Prompts and resources of the connected servers, for MCP clients. Nothing is cached: each request asks the servers
 * concerned. A prompt is named `<server>_<prompt>`. A resource keeps its URI; if an earlier server lists the same URI, it
 * becomes `portico://<server>/<URI>`. Every resource can be read by a URI of that form.
 */
import { UriTemplate } from "@modelcontextprotocol/sdk/shared/uriTemplate.js";
import { ErrorCode, LoggingLevelSchema } from "@modelcontextprotocol/sdk/types.js";
import { type Logger, runBounded } from "portico";
import { uniqueName } from "./names.ts";
import { type Json, type Remote, RpcError } from "./remote.ts";

const SCHEME = "portico://";
const MAX_TEMPLATE_EXPRESSIONS = 20;
/** The longest time for the match of one address, in milliseconds. */
const MATCH_MS = 50;
const RESOURCE_NOT_FOUND = -32002;

interface CatalogOptions {
  remotes: readonly Remote[];
  log: Logger;
  signal: AbortSignal;
}

/** A kind of entry: the capability of servers that have it, the method that lists it, and the member of the result. */
interface Kind {
  capability: "prompts" | "resources";
  method: string;
  member: string;
}

const PROMPTS: Kind = { capability: "prompts", method: "prompts/list", member: "prompts" };
const RESOURCES: Kind = { capability: "resources", method: "resources/list", member: "resources" };
const TEMPLATES: Kind = {
  capability: "resources",
  method: "resources/templates/list",
  member: "resourceTemplates",
};

interface Entry {
  remote: Remote;
  /** The entry as the server lists it. */
  definition: Json;
}

interface Target {
  remote: Remote;
  /** The server's own name or URI of the prompt or resource. */
  name: string;
}

export class Catalog {
  readonly #remotes: readonly Remote[];
  readonly #log: Logger;
  readonly #signal: AbortSignal;

  constructor({ remotes, log, signal }: CatalogOptions) {
    this.#remotes = remotes;
    this.#log = log;
    this.#signal = signal;
  }

  async listPrompts(): Promise<Json> {
    const entries = await this.#listEntries(PROMPTS);
    const names = namePrompts(entries);
    const prompts = entries.map(({ remote, definition }, index) => ({
      ...definition,
      name: names[index] ?? remote.name,
    }));
    return { prompts };
  }

  async getPrompt({ name, ...params }: Json): Promise<Json> {
    const target = await this.#findPrompt(name);
    return this.#request(target.remote, "prompts/get", { ...params, name: target.name });
  }

  async listResources(): Promise<Json> {
    return { resources: addServerNames(await this.#listEntries(RESOURCES), "uri") };
  }

  async listTemplates(): Promise<Json> {
    return { resourceTemplates: addServerNames(await this.#listEntries(TEMPLATES), "uriTemplate") };
  }

  async readResource({ uri, ...params }: Json): Promise<Json> {
    if (typeof uri !== "string") throw invalidParams("resources/read needs a uri.");
    const target = await this.#findResource(uri);
    return this.#request(target.remote, "resources/read", { ...params, uri: target.name });
  }

  /** Finds a resource whose changes a client wants to follow. Throws if its server does not report changes. */
  async findSubscribable({ uri }: Json): Promise<Target & { uri: string }> {
    if (typeof uri !== "string") throw invalidParams("A subscription needs a uri.");
    const target = await this.#findResource(uri);
    if (!target.remote.canSubscribe)
      throw invalidParams(
        `The server ${target.remote.name} does not report changes to its resources.`,
      );
    return { ...target, uri };
  }

  async complete({ ref, ...params }: Json): Promise<Json> {
    const reference = Object(ref) as Json;
    const target = await this.#referenceTo(reference);
    const remoteName =
      reference["type"] === "ref/prompt" ? { name: target.name } : { uri: target.name };
    const remoteParams = { ...params, ref: { ...reference, ...remoteName } };
    // A server without the capability has no suggestions.
    if (!target.remote.has("completions")) return { completion: { values: [] } };
    return this.#request(target.remote, "completion/complete", remoteParams);
  }

  /** Clients share the connections to the servers, so the level applies to all clients. */
  async setLogLevel({ level }: Json): Promise<Json> {
    if (!LoggingLevelSchema.safeParse(level).success)
      throw invalidParams(`level must be one of ${LoggingLevelSchema.options.join(", ")}.`);
    const remotes = this.#remotes.filter((remote) => remote.has("logging"));
    await Promise.all(
      remotes.map((remote) => this.#request(remote, "logging/setLevel", { level })),
    );
    return {};
  }

  #referenceTo({ type, name, uri }: Json): Promise<Target> | Target {
    if (type === "ref/prompt") return this.#findPrompt(name);
    if (type === "ref/resource" && typeof uri === "string") return this.#findTemplate(uri);
    throw invalidParams(
      "completion/complete needs a ref: ref/prompt with a name, or ref/resource.",
    );
  }

  #request(remote: Remote, method: string, params: Json): Promise<Json> {
    return remote.request(method, params, { signal: this.#signal });
  }

  /** Lists the entries of all servers, in their order. A server that fails contributes none, and the log says why. */
  async #listEntries({ capability, method, member }: Kind): Promise<Entry[]> {
    const remotes = this.#remotes.filter((remote) => remote.has(capability));
    const lists = await Promise.all(
      remotes.map(async (remote) => {
        try {
          const definitions = await remote.list(method, member, this.#signal);
          return definitions.map((entry): Entry => ({ remote, definition: entry }));
        } catch (error) {
          this.#signal.throwIfAborted();
          // Servers with resources but without templates are common, so this is not a warning.
          this.#log.debug({ err: error, server: remote.name }, `${method} failed`);
          return [];
        }
      }),
    );
    return lists.flat();
  }

  async #findPrompt(name: unknown): Promise<Target> {
    const entries = await this.#listEntries(PROMPTS);
    const entry = entries[namePrompts(entries).indexOf(String(name))];
    if (entry === undefined) throw invalidParams(`There is no prompt ${JSON.stringify(name)}.`);
    return { remote: entry.remote, name: String(entry.definition["name"]) };
  }

  async #findResource(uri: string): Promise<Target> {
    const target = this.#parseOwnUri(uri);
    if (target !== undefined) return target;
    const resource = (await this.#listEntries(RESOURCES)).find(
      (entry) => entry.definition["uri"] === uri,
    );
    if (resource !== undefined) return { remote: resource.remote, name: uri };
    const template = (await this.#listEntries(TEMPLATES)).find((entry) =>
      matchesTemplate(entry, uri),
    );
    if (template !== undefined) return { remote: template.remote, name: uri };
    // A link in a result may refer to an unlisted resource. If only one server has resources, it must be its own.
    const [onlyRemote, ...otherRemotes] = this.#remotes.filter((remote) => remote.has("resources"));
    if (onlyRemote !== undefined && otherRemotes.length === 0)
      return { remote: onlyRemote, name: uri };
    throw new RpcError(RESOURCE_NOT_FOUND, "Resource not found", { uri });
  }

  async #findTemplate(uri: string): Promise<Target> {
    const target = this.#parseOwnUri(uri);
    if (target !== undefined) return target;
    const entries = [
      ...(await this.#listEntries(TEMPLATES)),
      ...(await this.#listEntries(RESOURCES)),
    ];
    const entry = entries.find(
      ({ definition }) => definition["uriTemplate"] === uri || definition["uri"] === uri,
    );
    if (entry === undefined)
      throw invalidParams(`There is no resource template ${JSON.stringify(uri)}.`);
    return { remote: entry.remote, name: uri };
  }

  /** Parses `portico://<server>/<URI>`; undefined for any other URI. */
  #parseOwnUri(uri: string): Target | undefined {
    if (!uri.startsWith(SCHEME)) return undefined;
    const remote = this.#remotes.find(({ name }) => uri.startsWith(`${SCHEME}${name}/`));
    return remote && { remote, name: uri.slice(SCHEME.length + remote.name.length + 1) };
  }
}

function namePrompts(entries: readonly Entry[]): string[] {
  const usedNames = new Set<string>();
  return entries.map(({ remote, definition }) =>
    uniqueName(remote.name, String(definition["name"]), usedNames),
  );
}

/** Prefixes names with the server, and makes repeated URIs unique. `key` is the member that holds the URI. */
function addServerNames(entries: readonly Entry[], key: "uri" | "uriTemplate"): Json[] {
  const seenUris = new Set<unknown>();
  return entries.map(({ remote, definition }) => {
    const uri = definition[key];
    const isDuplicate = seenUris.has(uri);
    seenUris.add(uri);
    const name = `${remote.name}_${String(definition["name"] ?? uri)}`;
    return {
      ...definition,
      name,
      ...(isDuplicate ? { [key]: `${SCHEME}${remote.name}/${uri}` } : {}),
    };
  });
}

/**
 * The library compiles the server's template to a regular expression. V8 can interrupt it in time only if it has few
 * groups, so templates with more expressions match nothing.
 */
function matchesTemplate({ definition }: Entry, uri: string): boolean {
  const { uriTemplate } = definition;
  if (typeof uriTemplate !== "string") return false;
  if (uriTemplate.split("{").length > MAX_TEMPLATE_EXPRESSIONS) return false;
  try {
    const isMatch = () => new UriTemplate(uriTemplate).match(uri) !== null;
    return runBounded(isMatch, MATCH_MS, { repeatable: true });
  } catch {
    return false;
  }
}

function invalidParams(message: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, message);
}
