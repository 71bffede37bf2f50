/** Which model a turn asks. */
import { type Client, currentPrincipal } from "portico";
import type { TurnRequest } from "portico/agent";
import { errors } from "../errors.ts";
import type { AgentContext, AgentSettings } from "../context.ts";
import type { TurnBody } from "./turn-body.ts";

/** Asked only where no channel is configured: it says back what it hears, so that everything can be tried offline. */
const OFFLINE_MODEL = "echo";

const OWNER: Client = { kind: "owner" };

type NamedModel = Pick<TurnRequest, "model" | "channel" | "principal">;

/**
 * The request's, else the agent's, else the first of the highest channel. Throws `invalid_request_error` for an agent
 * that is to be its own model, and what the chat service throws where the channels cannot say their models.
 */
export async function modelOf(
  agent: AgentContext,
  body: TurnBody,
  settings: AgentSettings,
): Promise<string> {
  const named = body.model ?? settings.model;
  const channel = channelOf(body, settings);
  const model = named ?? (await agent.ctx.use("chat").defaultModel(channel)) ?? OFFLINE_MODEL;
  refuseAgent(model);
  return model;
}

/**
 * Judges the model and the channel that a request for a turn names, before the turn is accepted. Throws 404
 * `model_not_found` or 400, with `param`, where the turn could only fail.
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
  // a model that the request names may well not be on the agent's own channel
  return body.channel ?? (body.model === undefined ? settings.channel : undefined);
}

/** For `portico status`. */
export async function modelNotices({ ctx, defaults }: AgentContext): Promise<string[]> {
  const { model, channel } = defaults();
  if (model !== undefined) return [];
  try {
    if ((await ctx.use("chat").defaultModel(channel)) !== undefined) return [];
  } catch (error) {
    // It says which channels were asked, and what to do.
    return [(error as Error).message];
  }
  return [
    `No model is set and no channel is configured: turns, webhooks and cron jobs use ${OFFLINE_MODEL}, which repeats its input.`,
  ];
}
