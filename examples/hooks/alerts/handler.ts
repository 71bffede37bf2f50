import type { HookEvent, HookHandler } from "portico";

type Alert = "channel:resting" | "cron:failed" | "poll:failed" | "delivery:failed" | "agent:failed";

const MINUTE_MS = 60_000;
const LONGEST_TEXT = 1000;

const handler: HookHandler<Alert> = async (event, ctx) => {
  const { url, form = "slack", everyMinutes = 10 } = ctx.config;
  if (typeof url !== "string")
    throw new Error("Set hooks.entries.alerts.url to your chat's webhook.");
  const alert = alertOf(event);
  if (alert === undefined) return;
  const last = (await ctx.kv.get<number>(alert.about)) ?? 0;
  if (Date.now() - last < Number(everyMinutes) * MINUTE_MS) return;
  const text = alert.text.slice(0, LONGEST_TEXT);
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(form === "discord" ? { content: text } : { text }),
    signal: ctx.signal,
  });
  if (!response.ok) throw new Error(`The chat answered ${response.status}.`);
  await ctx.kv.set(alert.about, Date.now());
};

export default handler;

/** What is posted, and what it is about: alerts about the same wait for each other. Undefined where a retry follows. */
function alertOf(event: HookEvent<Alert>): { about: string; text: string } | undefined {
  switch (event.name) {
    case "channel:resting": {
      const { channel, model, until, error } = event.context;
      return {
        about: `channel ${channel}`,
        text: `The channel ${channel} (${model}) rests until ${until}: ${error}`,
      };
    }
    case "cron:failed": {
      const { name, status, error, disabled } = event.context;
      const end = disabled ? " It is disabled now." : "";
      return { about: `job ${name}`, text: `The job ${name} failed (${status}): ${error}${end}` };
    }
    case "poll:failed": {
      const { name, error } = event.context;
      return { about: `poll ${name}`, text: `The poll ${name} failed: ${error}` };
    }
    case "delivery:failed": {
      const { url, type, error } = event.context;
      return {
        about: `delivery ${type}`,
        text: `A result (${type}) could not be delivered to ${url}: ${error.message}`,
      };
    }
    case "agent:failed": {
      const { agentId, turnId, error, willRetry } = event.context;
      if (willRetry) return undefined;
      return {
        about: `agent ${agentId}`,
        text: `The turn ${turnId} of ${agentId} failed: ${error.message}`,
      };
    }
  }
}
