/** The command `portico keys`. */
import { commandFor, defineCommand } from "portico/command-line";
import { keyRoutes } from "./routes-schema.ts";
import type { KeyView } from "./view.ts";

const SHOWN_ONCE = "The key is shown only once. Copy it now.";

const name = { name: "name", description: "The name of the key" };

const limit = (member: string, description: string) => ({ member, description });

const create = commandFor<KeyView & { key: string }>("POST /keys", keyRoutes.make, {
  name: "create",
  summary: "Create a key; its secret is shown only once",
  args: [{ name: "name", description: "The name of the new key" }],
  options: {
    models: {
      type: "list",
      value: "PATTERN",
      description:
        "The models that the key may use: gpt-4o, main/* (default: all models except agents)",
      read: splitAtCommas,
    },
    rpm: limit("requestsPerMinute", "The maximum number of requests per minute"),
    tpm: limit("tokensPerMinute", "The maximum number of tokens per minute"),
    budget: {
      type: "string",
      value: "USD/PERIOD",
      description: "The budget in US dollars per period: 5/day, 100/month",
      read: readBudget,
    },
    expires: {
      member: "expiresAt",
      value: "DATE",
      description: "When the key expires: a date, a time, or a period from now such as 30d or 12h",
      read: readExpiry,
    },
    allow: {
      member: "allowedIps",
      type: "list",
      value: "ADDRESS",
      description: "Addresses or networks that may use the key: 10.0.0.0/8 (default: any)",
      read: splitAtCommas,
    },
  },
  view: ({ key, warnings = [] }) => [
    key,
    "",
    SHOWN_ONCE,
    ...warnings.map((warning) => `warning: ${warning}`),
  ],
});

const rotate = commandFor<KeyView & { key: string }>("POST /keys/:name/rotate", keyRoutes.rotate, {
  name: "rotate",
  summary: "Give a key a new secret; the old secret keeps working for a while",
  args: [name],
  options: {
    overlap: {
      value: "TIME",
      description: "How long the old secret keeps working: 24h (default), 30m, or 0",
    },
  },
  view: ({ name, key, previousUntil }) => [
    key,
    "",
    SHOWN_ONCE,
    previousUntil === undefined
      ? `The old secret of ${name} no longer works.`
      : `The old secret of ${name} works until ${previousUntil}.`,
  ],
});

const list = commandFor<{ keys: KeyView[] }>("GET /keys", keyRoutes.list, {
  name: "list",
  summary: "List all keys with their limits",
  view: ({ keys }, io) => [
    ...io.table(
      ["NAME", "STATE", "MODELS", "REQUESTS/MIN", "TOKENS/MIN", "BUDGET", "EXPIRES"],
      keys.map((key) => [
        key.name,
        key.state,
        key.models?.join(", ") ?? "all models except agents",
        key.requestsPerMinute ?? "",
        key.tokensPerMinute ?? "",
        budgetOf(key),
        key.expiresAt ?? key.expires ?? "",
      ]),
    ),
    ...keys.flatMap(({ name, warnings = [] }) =>
      warnings.map((warning) => `warning: ${name}: ${warning}`),
    ),
  ],
});

const revoke = commandFor<{ name: string }>("DELETE /keys/:name", keyRoutes.revoke, {
  name: "revoke",
  summary: "Revoke a key at once and permanently",
  args: [name],
  view: ({ name }) => `The key ${name} is revoked.`,
});

export default defineCommand({
  name: "keys",
  summary: "Create, list, rotate and revoke client keys",
  description:
    "A client key gives access only to the routes below /v1. The gateway stores the key's hash, not the key. If several gateways share a store, the hash is in that store; otherwise it is in gateway.keys of the configuration, where you can also change the key's limits.",
  examples: [
    "portico keys create ci --models 'main/gpt-4o*' --rpm 60 --budget 5/day",
    "portico keys create guest --expires 30d --allow 10.0.0.0/8",
    "portico keys rotate ci --overlap 24h",
    "portico keys revoke ci",
  ],
  commands: [create, rotate, list, revoke],
});

/** Reads an option that takes a list with commas and may be repeated. */
function splitAtCommas(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split(",")).map((text) => text.trim());
}

function readBudget(text: string): { usd: number; per: string } {
  const match = /^\$?(\d+(?:\.\d+)?)\/(day|month)$/.exec(text);
  if (!match)
    throw new Error(
      `--budget takes an amount in US dollars and a period, such as 5/day or 100/month, not ${text}.`,
    );
  return { usd: Number(match[1]), per: match[2]! };
}

function readExpiry(text: string): string {
  const match = /^(\d{1,5})([hdw])$/.exec(text);
  if (match) {
    const hours = Number(match[1]) * { h: 1, d: 24, w: 168 }[match[2] as "h" | "d" | "w"];
    return new Date(Date.now() + hours * 3_600_000).toISOString();
  }
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  const unit = /^\d+([a-z]+)$/i.exec(text)?.[1];
  const reason =
    unit && !/^[hdw]$/.test(unit)
      ? `${unit} is not a supported unit of time: use h, d or w`
      : `"${text}" is not a time`;
  throw new Error(
    `${reason}. --expires takes a date (2026-12-31), a time, or how long from now (12h, 30d, 4w).`,
  );
}

function budgetOf({ budget, spentUsd }: KeyView): string {
  if (budget === undefined) return "";
  const spent = spentUsd == null ? "?" : `$${Number(spentUsd.toFixed(4))}`;
  return `${spent} of $${budget.usd} per ${budget.per}`;
}
