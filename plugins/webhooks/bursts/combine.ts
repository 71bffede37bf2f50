/** Makes one turn or one event of the deliveries of a mapping. The last delivery decides how it runs. */
import type { Principal, Static } from "portico";
import type { TurnRequest } from "portico/agent";
import { principalOfMapping, SOURCE } from "../started-work.ts";
import type { Rendering } from "../mappings/rendering.ts";
import type { wakeRequest } from "../schema.ts";

/** The agent gets this many of the newest deliveries. */
const MAX_SHOWN = 50;

export function combineIntoTurn(
  deliveries: readonly Rendering[],
): TurnRequest & { principal: Principal } {
  const newest = deliveries.slice(-MAX_SHOWN);
  const last = getLast(deliveries);
  const { session, temporary, model, channel, delivery } = last;
  return {
    message: last.task + describeBurst(deliveries.length),
    untrusted: labelTexts(newest, deliveries.length),
    content: last.filled ? newest.map(({ text }) => text).join("\n\n") : undefined,
    source: SOURCE,
    principal: principalOfMapping({ name: last.mapping }),
    session,
    temporary,
    model,
    channel,
    delivery,
  };
}

export function combineIntoEvent(deliveries: readonly Rendering[]): Static<typeof wakeRequest> {
  const { mapping, mode } = getLast(deliveries);
  const texts = deliveries
    .slice(-MAX_SHOWN)
    .map(({ filled, task, text }) => (filled ? text : `${task}\n${text}`));
  const count = deliveries.length > 1 ? deliveries.length : undefined;
  return { text: texts.join("\n\n"), metadata: { mapping, deliveries: count }, mode };
}

function getLast(deliveries: readonly Rendering[]): Rendering {
  return deliveries.at(-1) as Rendering;
}

/** Returns the sentence of the task about the number of deliveries; empty for a single one. */
function describeBurst(count: number): string {
  if (count === 1) return "";
  const follow = count > MAX_SHOWN ? `; the last ${MAX_SHOWN} follow` : "";
  return `\n\n(${count} deliveries came in one burst${follow}.)`;
}

/** Returns the texts with the labels of their fences, such as `webhook build, 3 of 7`. */
function labelTexts(
  newest: readonly Rendering[],
  count: number,
): { label: string; text: string }[] {
  const firstNumber = count - newest.length + 1;
  return newest.map(({ mapping, text }, index) => ({
    label:
      count === 1 ? `webhook ${mapping}` : `webhook ${mapping}, ${firstNumber + index} of ${count}`,
    text,
  }));
}
