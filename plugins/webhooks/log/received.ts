/** The event `webhook:received`, by which hooks learn of an accepted delivery. */
import { exactJson, type PluginContext, type PluginDefinition } from "portico";
import type { StartedWork } from "../started-work.ts";
import { maskFields } from "../mask.ts";
import type { Request } from "../mappings/paths.ts";

export interface AcceptedDelivery {
  id: string;
  work: StartedWork;
  source: string;
  request: Request;
  address: string;
  secrets: readonly string[];
}

export const events: PluginDefinition["events"] = {
  "webhook:received": {
    mode: "notify",
    description: "A webhook was accepted and stored durably.",
    sample: {
      deliveryId: "del_3f1c",
      source: "github",
      action: "agent",
      turnId: "turn_5f0c",
      sessionId: "webhook:github",
      headers: { "x-github-event": "issues", authorization: "********" },
      query: {},
      body: { action: "opened", issue: { number: 7, title: "It does not start" } },
      address: "127.0.0.1",
    },
  },
};

export function announceDelivery(
  ctx: PluginContext,
  { id, work, source, request, address, secrets }: AcceptedDelivery,
): void {
  if (!ctx.hasListeners("webhook:received")) return;
  const { action, principal, eventId, turnId, sessionId } = work;
  const context = {
    deliveryId: id,
    source,
    action,
    eventId,
    turnId,
    sessionId,
    headers: maskFields(request.headers, secrets),
    query: maskFields(request.query, secrets),
    body: exactJson.toPlain(request.body),
    address,
  };
  void ctx.emit("webhook:received", context, { sessionKey: sessionId, principal });
}
