/** Creates the item of one delivery of a burst. Each burst has a lane, of which `end.ts` makes one turn. */
import { type AgentService, newId } from "portico/agent";
import type { NewItem } from "portico/store";
import { computeHash } from "../intake/content.ts";
import { BURST, type StartedWork, principalOfMapping, SOURCE } from "../started-work.ts";
import type { Rendering } from "../mappings/rendering.ts";
import type { Mapping } from "../settings.ts";

const KEY_CHARS = 12;
const MESSAGE = "The delivery will be combined with others into one turn.";

/** Creates the work of a delivery that joins a burst. All deliveries of a burst have the same `burstKey`. */
export function createBurstWork(
  agent: AgentService,
  mapping: Mapping,
  settle: NonNullable<NewItem["settle"]>,
  rendering: Rendering,
  burstKey: string,
): StartedWork {
  const { action } = rendering;
  const key = computeHash(burstKey).slice(0, KEY_CHARS);
  const principal = principalOfMapping(mapping);
  const session = rendering.session ?? `${SOURCE}:${mapping.name}:${key}`;
  const id = newId(action === "wake" ? "evt" : "turn");
  const item: NewItem = {
    id,
    lane: `${mapping.name}:${key}`,
    kind: BURST,
    body: {
      ...rendering,
      delivery: agent.sealDelivery(rendering.delivery, principal),
      session,
      temporary: rendering.session === undefined,
    },
    settle,
  };
  const ids = action === "wake" ? { eventId: id } : { sessionId: session, turnId: id };
  return {
    action,
    principal,
    items: [item],
    itemId: id,
    ...ids,
    status: 200,
    body: { status: 200, message: MESSAGE, ...ids },
  };
}
