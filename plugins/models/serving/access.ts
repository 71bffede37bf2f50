/** Decides through the gates which models a client may use. */
import type { ServerResponse } from "node:http";
import type { Call, Client, Workers } from "portico";
import type { ChatGate, ChatMeter, WantedModel } from "portico/models";
import type { Engine } from "../routing/attempts.ts";
import { checkModelName } from "../routing/model-name.ts";
import type { ModelEntry } from "../routing/models.ts";
import { candidatesOf, channelNamedIn } from "../routing/router.ts";
import type { Emitter } from "../events.ts";

/** The services that the routes use. */
export interface Endpoint {
  engine: Engine;
  events: Emitter;
  busy<T>(work: Promise<T>): Promise<T>;
  meters(): readonly ChatMeter[];
  gates(): readonly ChatGate[];
  models(): Promise<ModelEntry[]>;
  /** Set if this process is one of several workers. */
  workers: Workers | undefined;
}

/**
 * Throws 400 for an invalid model name, and lets the gates refuse the model to a client key. Returns undefined if no
 * gate decides.
 */
export function admit(
  { engine, gates }: Endpoint,
  call: Call,
  model: string,
): Promise<void> | undefined {
  checkModelName(model);
  return call.client.kind === "key"
    ? admitThroughGates(gates(), call.client, describeWanted(engine, model), call.res)
    : undefined;
}

async function admitThroughGates(
  gates: readonly ChatGate[],
  client: Client,
  model: Promise<WantedModel>,
  res: ServerResponse,
) {
  const wantedModel = await model;
  for (const gate of gates) await gate.admit(client, wantedModel, res);
}

/** Whether a client may use a model, for listings. */
export async function mayUse(
  { engine, gates }: Endpoint,
  client: Client,
  model: string,
): Promise<boolean> {
  if (client.kind !== "key") return true;
  const wantedModel = await describeWanted(engine, model);
  return gates().every((gate) => gate.allows(client, wantedModel));
}

/** Filters the models that a client may use. */
export async function filterUsable(
  endpoint: Endpoint,
  client: Client,
  models: readonly string[],
): Promise<string[]> {
  for (const model of models) checkModelName(model);
  const allowed = await Promise.all(models.map((model) => mayUse(endpoint, client, model)));
  return models.filter((_, i) => allowed[i]);
}

/** Describes the model for the gates. An unknown name passes here, since every client gets the same error later. */
async function describeWanted({ routing, provider }: Engine, model: string): Promise<WantedModel> {
  const actingNames = new Set<string>();
  for (const { channel, model: targetModel } of await candidatesOf(routing, model)) {
    const actingProvider = provider(channel.config.provider);
    if (actingProvider?.composite !== true) continue;
    const name = actingProvider.builtinChannel ?? channel.name;
    actingNames.add(targetModel === name ? name : `${name}/${targetModel}`);
  }
  return { model, channel: channelNamedIn(routing, model), acting: [...actingNames] };
}
