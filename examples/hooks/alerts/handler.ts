import type { HookEvent, HookHandler } from "portico";

type Alert = "channel:resting" | "cron:failed" | "poll:failed" | "delivery:failed" | "agent:failed";

const MINUTE_MS = 60_000;
const MAX_TEXT_LENGTH = 1000;

const handler: HookHandler<Alert> = async (event, ctx) => {
  const { url, form = "slack", everyMinutes = 10 } = ctx.config;
  if (typeof url !== "string")
    throw new Error("Set hooks.entries.alerts.url to your chat's webhook.");
  const alert = createAlert(event);
  if (alert === undefined) return;
  const last = (await ctx.kv.get<number>(alert.subject)) ?? 0;
  if (Date.now() - last < Number(everyMinutes) * MINUTE_MS) return;
  const text = alert.text.slice(0, MAX_TEXT_LENGTH);
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(form === "discord" ? { content: text } : { text }),
    signal: ctx.signal,
  });
  if (!response.ok) throw new Error(`The chat answered ${response.status}.`);
  await ctx.kv.set(alert.subject, Date.now());
};

export default handler;

/**
 * Returns the text of an alert and its subject, or undefined if a retry follows. Alerts about the same subject are limited
 * in rate.
 */
function createAlert(event: HookEvent<Alert>): { subject: string; text: string } | undefined {
  switch (event.name) {
    case "channel:resting": {
      const { channel, model, until, error } = event.context;
      return {
        subject: `channel ${channel}`,
        text: `The channel ${channel} (${model}) rests until ${until}: ${error}`,
      };
    }
    case "cron:failed": {
      const { name, status, error, disabled } = event.context;
      const end = disabled ? " It is disabled now." : "";
      return { subject: `job ${name}`, text: `The job ${name} failed (${status}): ${error}${end}` };
    }
    case "poll:failed": {
      const { name, error } = event.context;
      return { subject: `poll ${name}`, text: `The poll ${name} failed: ${error}` };
    }
    case "delivery:failed": {
      const { url, type, error } = event.context;
      return {
        subject: `delivery ${type}`,
        text: `A result (${type}) could not be delivered to ${url}: ${error.message}`,
      };
    }
    case "agent:failed": {
      const { agentId, turnId, error, willRetry } = event.context;
      if (willRetry) return undefined;
      return {
        subject: `agent ${agentId}`,
        text: `The turn ${turnId} of ${agentId} failed: ${error.message}`,
      };
    }
  }
}
