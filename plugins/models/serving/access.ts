/** What a client may use: the gates decide. */
import type { ServerResponse } from "node:http";
import type { Call, Client, Workers } from "portico";
import type { ChatGate, ChatMeter, WantedModel } from "portico/models";
import type { Engine } from "../routing/attempts.ts";
import { checkModelName } from "../routing/model-name.ts";
import type { ModelEntry } from "../routing/models.ts";
import { candidatesOf, channelNamedIn } from "../routing/router.ts";
import type { Emitter } from "../events.ts";

/** Services of the routes. */
export interface Endpoint {
  engine: Engine;
  events: Emitter;
  busy<T>(work: Promise<T>): Promise<T>;
  meters(): readonly ChatMeter[];
  gates(): readonly ChatGate[];
  models(): Promise<ModelEntry[]>;
  /** Where this process is one of several. */
  workers: Workers | undefined;
}

/** Throws 400 for a name that no model can have, and lets the gates refuse the model to a client key. Undefined if no gate decides. */
export function admit(
  { engine, gates }: Endpoint,
  call: Call,
  model: string,
): Promise<void> | undefined {
  checkModelName(model);
  return call.client.kind === "key"
    ? askGates(gates(), call.client, wanted(engine, model), call.res)
    : undefined;
}

async function askGates(
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
  const wantedModel = await wanted(engine, model);
  return gates().every((gate) => gate.allows(client, wantedModel));
}

/** Those of the models that a client may use. */
export async function usable(
  endpoint: Endpoint,
  client: Client,
  models: readonly string[],
): Promise<string[]> {
  for (const model of models) checkModelName(model);
  const allowed = await Promise.all(models.map((model) => mayUse(endpoint, client, model)));
  return models.filter((_, i) => allowed[i]);
}

/** A name that leads nowhere is refused later, to everybody alike. */
async function wanted({ routing, provider }: Engine, model: string): Promise<WantedModel> {
  const acting = new Set<string>();
  for (const { channel, model: own } of await candidatesOf(routing, model)) {
    const actingProvider = provider(channel.config.provider);
    if (actingProvider?.composite !== true) continue;
    const name = actingProvider.builtinChannel ?? channel.name;
    acting.add(own === name ? name : `${name}/${own}`);
  }
  return { model, channel: channelNamedIn(routing, model), acting: [...acting] };
}
