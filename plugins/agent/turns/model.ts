/** Selects the model of a turn. */
import { type Client, currentPrincipal } from "portico";
import type { TurnRequest } from "portico/agent";
import { errors } from "../errors.ts";
import type { AgentContext, AgentSettings } from "../context.ts";
import type { TurnBody } from "./turn-body.ts";

/** The model if no channel is configured. It repeats its input, so that everything can be tried offline. */
const OFFLINE_MODEL = "echo";

const OWNER: Client = { kind: "owner" };

type NamedModel = Pick<TurnRequest, "model" | "channel" | "principal">;

/**
 * Returns the request's model, else the agent's, else the first model of the channel with the highest priority. Throws
 * `invalid_request_error` if an agent would be its own model, and passes on the chat service's error if the channels
 * cannot list their models.
 */
export async function modelOf(
  agent: AgentContext,
  body: TurnBody,
  settings: AgentSettings,
): Promise<string> {
  const namedModel = body.model ?? settings.model;
  const channel = channelOf(body, settings);
  const model = namedModel ?? (await agent.ctx.use("chat").defaultModel(channel)) ?? OFFLINE_MODEL;
  refuseAgent(model);
  return model;
}

/**
 * Validates the model and the channel that a request names, before the turn is accepted. Throws 404 `model_not_found` or
 * 400, with `param`, if the turn could only fail.
 */
export async function checkNamedModel(
  agent: AgentContext,
  { model, channel, principal = currentPrincipal() }: NamedModel,
): Promise<void> {
  if (model === undefined && channel === undefined) return;
  if (model !== undefined) refuseAgent(model);
  const client = principal === "owner" ? OWNER : await agent.client(principal, false);
  await agent.ctx.use("chat").checkModel({ model, channel }, { client });
}

function refuseAgent(model: string): void {
  if (model === "agent" || model.startsWith("agent/"))
    throw errors.agentAsModel({ model }, { param: "model" });
}

export function channelOf(body: TurnBody, settings: AgentSettings): string | undefined {
  // The agent's channel may not offer a model that the request names.
  return body.channel ?? (body.model === undefined ? settings.channel : undefined);
}

/** Returns a notice for `portico status` if turns have no configured model. */
export async function modelNotices({ ctx, defaults }: AgentContext): Promise<string[]> {
  const { model, channel } = defaults();
  if (model !== undefined) return [];
  try {
    if ((await ctx.use("chat").defaultModel(channel)) !== undefined) return [];
  } catch (error) {
    // The message names the channels that were asked, and what to do.
    return [(error as Error).message];
  }
  return [
    `No model is set and no channel is configured: turns, webhooks and cron jobs use ${OFFLINE_MODEL}, which repeats its input.`,
  ];
}
