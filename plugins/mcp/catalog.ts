/**
 * Prompts and resources of the connected servers, for MCP clients. Nothing is kept here: each request asks the servers that
 * it concerns. A prompt is called `<server>_<prompt>`. A resource keeps its URI; where an earlier server has the same
 * one, it is `portico://<server>/<URI>`, and in that form every resource can be read.
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

/** Which members of an entry carry its name, and where a server lists it. */
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
  /** As the server lists it. */
  listed: Json;
}

interface Place {
  remote: Remote;
  /** What the server calls it. */
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

  async prompts(): Promise<Json> {
    const prompts = (await this.#entries(PROMPTS)).map(({ remote, listed }, index, all) => ({
      ...listed,
      name: promptNames(all)[index] ?? remote.name,
    }));
    return { prompts };
  }

  async getPrompt({ name, ...params }: Json): Promise<Json> {
    const place = await this.#promptNamed(name);
    return this.#ask(place.remote, "prompts/get", { ...params, name: place.name });
  }

  async resources(): Promise<Json> {
    return { resources: withOwnNames(await this.#entries(RESOURCES), "uri") };
  }

  async templates(): Promise<Json> {
    return { resourceTemplates: withOwnNames(await this.#entries(TEMPLATES), "uriTemplate") };
  }

  async readResource({ uri, ...params }: Json): Promise<Json> {
    if (typeof uri !== "string") throw invalid("resources/read needs a uri.");
    const place = await this.#resourceAt(uri);
    return this.#ask(place.remote, "resources/read", { ...params, uri: place.name });
  }

  /** Where a resource is, for a client that follows its changes. */
  async followed({ uri }: Json): Promise<Place & { uri: string }> {
    if (typeof uri !== "string") throw invalid("A subscription needs a uri.");
    const place = await this.#resourceAt(uri);
    if (!place.remote.canSubscribe)
      throw invalid(`The server ${place.remote.name} does not report changes to its resources.`);
    return { ...place, uri };
  }

  async complete({ ref, ...params }: Json): Promise<Json> {
    const wanted = Object(ref) as Json;
    const place = await this.#referenceTo(wanted);
    const named = wanted["type"] === "ref/prompt" ? { name: place.name } : { uri: place.name };
    const asked = { ...params, ref: { ...wanted, ...named } };
    // a server that completes nothing has no suggestions
    if (!place.remote.has("completions")) return { completion: { values: [] } };
    return this.#ask(place.remote, "completion/complete", asked);
  }

  /** The servers' connections are shared: the level counts for all clients. */
  async setLogLevel({ level }: Json): Promise<Json> {
    if (!LoggingLevelSchema.safeParse(level).success)
      throw invalid(`level must be one of ${LoggingLevelSchema.options.join(", ")}.`);
    const remotes = this.#remotes.filter((remote) => remote.has("logging"));
    await Promise.all(remotes.map((remote) => this.#ask(remote, "logging/setLevel", { level })));
    return {};
  }

  #referenceTo({ type, name, uri }: Json): Promise<Place> | Place {
    if (type === "ref/prompt") return this.#promptNamed(name);
    if (type === "ref/resource" && typeof uri === "string") return this.#templateAt(uri);
    throw invalid("completion/complete needs a ref: ref/prompt with a name, or ref/resource.");
  }

  #ask(remote: Remote, method: string, params: Json): Promise<Json> {
    return remote.request(method, params, { signal: this.#signal });
  }

  /** Of all servers, in their order. One that cannot say has none, and the log tells why. */
  async #entries({ capability, method, member }: Kind): Promise<Entry[]> {
    const remotes = this.#remotes.filter((remote) => remote.has(capability));
    const lists = await Promise.all(
      remotes.map(async (remote) => {
        try {
          const listed = await remote.list(method, member, this.#signal);
          return listed.map((entry): Entry => ({ remote, listed: entry }));
        } catch (error) {
          this.#signal.throwIfAborted();
          // resources without templates are common
          this.#log.debug({ err: error, server: remote.name }, `${method} failed`);
          return [];
        }
      }),
    );
    return lists.flat();
  }

  async #promptNamed(name: unknown): Promise<Place> {
    const entries = await this.#entries(PROMPTS);
    const entry = entries[promptNames(entries).indexOf(String(name))];
    if (entry === undefined) throw invalid(`There is no prompt ${JSON.stringify(name)}.`);
    return { remote: entry.remote, name: String(entry.listed["name"]) };
  }

  async #resourceAt(uri: string): Promise<Place> {
    const exact = this.#inOwnForm(uri);
    if (exact !== undefined) return exact;
    const listed = (await this.#entries(RESOURCES)).find((entry) => entry.listed["uri"] === uri);
    if (listed !== undefined) return { remote: listed.remote, name: uri };
    const template = (await this.#entries(TEMPLATES)).find((entry) => fitsTemplate(entry, uri));
    if (template !== undefined) return { remote: template.remote, name: uri };
    // a link in a result may lead to what no list has: where one server has resources, it is that one's
    const [only, ...more] = this.#remotes.filter((remote) => remote.has("resources"));
    if (only !== undefined && more.length === 0) return { remote: only, name: uri };
    throw new RpcError(RESOURCE_NOT_FOUND, "Resource not found", { uri });
  }

  async #templateAt(uri: string): Promise<Place> {
    const exact = this.#inOwnForm(uri);
    if (exact !== undefined) return exact;
    const entries = [...(await this.#entries(TEMPLATES)), ...(await this.#entries(RESOURCES))];
    const entry = entries.find(
      ({ listed }) => listed["uriTemplate"] === uri || listed["uri"] === uri,
    );
    if (entry === undefined) throw invalid(`There is no resource template ${JSON.stringify(uri)}.`);
    return { remote: entry.remote, name: uri };
  }

  /** Of `portico://<server>/<URI>`. */
  #inOwnForm(uri: string): Place | undefined {
    if (!uri.startsWith(SCHEME)) return undefined;
    const remote = this.#remotes.find(({ name }) => uri.startsWith(`${SCHEME}${name}/`));
    return remote && { remote, name: uri.slice(SCHEME.length + remote.name.length + 1) };
  }
}

function promptNames(entries: readonly Entry[]): string[] {
  const taken = new Set<string>();
  return entries.map(({ remote, listed }) =>
    uniqueName(remote.name, String(listed["name"]), taken),
  );
}

/** `key`: the member that holds the URI. */
function withOwnNames(entries: readonly Entry[], key: "uri" | "uriTemplate"): Json[] {
  const taken = new Set<unknown>();
  return entries.map(({ remote, listed }) => {
    const uri = listed[key];
    const isTaken = taken.has(uri);
    taken.add(uri);
    const name = `${remote.name}_${String(listed["name"] ?? uri)}`;
    return { ...listed, name, ...(isTaken ? { [key]: `${SCHEME}${remote.name}/${uri}` } : {}) };
  });
}

/**
 * The library makes a regular expression of the server's template. V8 interrupts it in time where it has few groups, so
 * that templates with more expressions match nothing.
 */
function fitsTemplate({ listed }: Entry, uri: string): boolean {
  const { uriTemplate } = listed;
  if (typeof uriTemplate !== "string") return false;
  if (uriTemplate.split("{").length > MAX_TEMPLATE_EXPRESSIONS) return false;
  try {
    const isMatch = () => new UriTemplate(uriTemplate).match(uri) !== null;
    return runBounded(isMatch, MATCH_MS, { repeatable: true });
  } catch {
    return false;
  }
}

function invalid(message: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, message);
}
