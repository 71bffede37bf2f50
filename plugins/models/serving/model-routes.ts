/** `GET /v1/models` and `GET /v1/models/{id}`, and the error for a model that does not exist. */
import { type Call, type Client, didYouMean, isPorticoError, type PorticoError } from "portico";
import type { ModelFacts } from "portico/models";
import type { ModelEntry, ModelPricing } from "../routing/models.ts";
import { type Candidate, candidatesOf } from "../routing/router.ts";
import { type Endpoint, mayUse, filterUsable } from "./access.ts";
import { anthropicModel, anthropicModels, bareNames } from "./anthropic-models.ts";
import { isAnthropicClient } from "../kit/anthropic-client.ts";
import { errors } from "../errors.ts";

/** `GET /v1/models`, in the client's format. */
export async function modelList(endpoint: Endpoint, call: Call): Promise<object> {
  const models = await usableModels(endpoint, call.client);
  if (!answersAnthropicClient(call))
    return { object: "list", data: await describeModels(endpoint, models) };
  const bareModels = bareNames(models);
  const names = bareModels.map(({ id }) => id);
  const allowed = new Set(await filterUsable(endpoint, call.client, names));
  return anthropicModels(
    [...bareModels.filter(({ id }) => allowed.has(id)), ...models],
    call.query,
  );
}

/** `GET /v1/models/{id}`, in the client's format. */
export async function modelDetails(endpoint: Endpoint, call: Call): Promise<object> {
  const model = await findModel(endpoint, call.client, call.path.slice("/v1/models/".length));
  return answersAnthropicClient(call) ? anthropicModel(model) : model;
}

/** True for a client of Anthropic's format. Its response then has the request's id under Anthropic's name, too. */
function answersAnthropicClient(call: Call): boolean {
  if (!isAnthropicClient(call.req.headers)) return false;
  call.res.setHeader("request-id", call.id);
  return true;
}

/** Lists all models that a client may use. */
async function usableModels(endpoint: Endpoint, client: Client): Promise<ModelEntry[]> {
  const all = await endpoint.models();
  if (client.kind !== "key") return all;
  const ids = new Set(
    await filterUsable(
      endpoint,
      client,
      all.map(({ id }) => id),
    ),
  );
  return all.filter(({ id }) => ids.has(id));
}

/** Finds any model that chat accepts. Throws `model_not_found` (404) for another one. */
async function findModel(endpoint: Endpoint, client: Client, path: string): Promise<ModelEntry> {
  const id = decodePath(path);
  const allowed = await mayUse(endpoint, client, id);
  const [first] = allowed ? await candidatesOf(endpoint.engine.routing, id) : [];
  if (first === undefined || !(await isAvailable(endpoint, first)))
    throw await withSuggestion(endpoint, client, notFound(id));
  const listedModel = (await endpoint.models()).find((model) => model.id === id);
  const created = listedModel?.created ?? (await endpoint.models())[0]?.created ?? 0;
  const model = listedModel ?? { id, object: "model", created, owned_by: first.channel.name };
  return describeModel(endpoint, model);
}

/** Adds context window and price, as far as they are known. */
async function describeModels(endpoint: Endpoint, models: ModelEntry[]): Promise<ModelEntry[]> {
  const described: ModelEntry[] = [];
  for (const model of models) described.push(await describeModel(endpoint, model));
  return described;
}

/** Adds the context window and price of the first target. A provider that calls other models has neither. */
async function describeModel({ engine }: Endpoint, model: ModelEntry): Promise<ModelEntry> {
  const pricing = engine.spending.services.pricing();
  const [first] = await candidatesOf(engine.routing, model.id);
  if (first === undefined || pricing?.facts === undefined) return model;
  const { name, config } = first.channel;
  if (engine.provider(config.provider)?.composite === true) return model;
  const target = { channel: name, provider: config.provider, model: first.model };
  const { contextWindow, price } = await pricing.facts(target);
  return { ...model, context_window: contextWindow, pricing: price && pricingOf(price) };
}

function pricingOf({ input, output, cachedInput }: NonNullable<ModelFacts["price"]>): ModelPricing {
  return {
    prompt: perToken(input),
    completion: perToken(output),
    input_cache_read: cachedInput === undefined ? undefined : perToken(cachedInput),
  };
}

/** Converts a price per million tokens to one per token, written without an exponent. */
function perToken(usd: number): string {
  return usd === 0 ? "0" : (usd / 1e6).toFixed(15).replace(/\.?0+$/, "");
}

/**
 * Whether the model can be requested. A channel may have more models than it lists, but one that calls other models
 * (the agent) refuses what it does not list.
 */
export async function isAvailable(
  { engine }: Endpoint,
  { channel, model }: Candidate,
): Promise<boolean> {
  const provider = engine.provider(channel.config.provider);
  if (provider?.composite !== true || model === provider.builtinChannel) return true;
  const listing = await engine.routing.listing(channel);
  return listing === "unknown" || listing.includes(model);
}

/** Returns the error. If it is about an unknown model, it suggests the nearest name that the client may use. */
export async function withSuggestion(
  endpoint: Endpoint,
  client: Client,
  error: unknown,
): Promise<unknown> {
  if (
    !isPorticoError(error) ||
    error.code !== "model_not_found" ||
    error.details?.["model"] === undefined
  )
    return error;
  const { model, ...details } = error.details;
  const ids = (await usableModels(endpoint, client)).flatMap(({ id }) => [
    id,
    id.slice(id.indexOf("/") + 1),
  ]);
  const name = String(model).slice(0, 200);
  const otherNames = new Set(ids.filter((id) => id !== name)); // an alias without a valid target is in the list, too
  const nearest =
    didYouMean(name, otherNames) ?? (await underNearestChannel(endpoint, client, name));
  const { message, status, type, param } = error;
  const hint = nearest === undefined ? "" : ` Did you mean \`${nearest}\`?`;
  return errors.modelNotFound({ problem: `${message}${hint}` }, { status, type, param, details });
}

/** Finds a suggestion for a mistyped channel name. The model need not be in the channel's list. */
async function underNearestChannel(
  endpoint: Endpoint,
  client: Client,
  requestedId: string,
): Promise<string | undefined> {
  const { routing } = endpoint.engine;
  const slash = requestedId.indexOf("/");
  const name =
    slash > 0
      ? didYouMean(requestedId.slice(0, slash), new Set(routing.channels().keys()))
      : undefined;
  if (name === undefined) return undefined;
  const id = `${name}${requestedId.slice(slash)}`;
  const [first] = (await mayUse(endpoint, client, id)) ? await candidatesOf(routing, id) : [];
  return first !== undefined && (await isAvailable(endpoint, first)) ? id : undefined;
}

function notFound(id: string): PorticoError {
  return errors.unknownModel({ model: id, hint: "" }, { param: "model", details: { model: id } });
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
