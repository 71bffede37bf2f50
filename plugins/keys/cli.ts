import { type CommandIO, defineCommand } from "portico/command-line";
import type { KeyView } from "./view.ts";

const limit = (description: string) => ({ type: "number", value: "N", description }) as const;

export default defineCommand({
  name: "keys",
  summary: "Client keys: make, list, rotate and revoke them",
  description:
    "A client key opens /v1 and nothing else. Only its hash is kept, in gateway.keys of the configuration, where its limits can be changed too; or in the store that several gateways share.",
  examples: [
    "portico keys create ci --models 'main/gpt-4o*' --rpm 60 --budget 5/day",
    "portico keys create guest --expires 30d --allow 10.0.0.0/8",
    "portico keys rotate ci --overlap 24h",
    "portico keys revoke ci",
  ],
  commands: [
    {
      name: "create",
      summary: "Make a key: it is shown once",
      args: [{ name: "name", description: "what to call it" }],
      options: {
        models: {
          type: "list",
          value: "PATTERN",
          description: "what it may use: gpt-4o, main/*; default all but agent",
        },
        rpm: limit("requests per minute"),
        tpm: limit("tokens per minute"),
        budget: {
          type: "string",
          value: "USD/PERIOD",
          description: "what it may cost: 5/day, 100/month",
        },
        expires: {
          type: "string",
          value: "DATE",
          description: "its last day, a time, or how long from now: 30d, 12h",
        },
        allow: {
          type: "list",
          value: "ADDRESS",
          description: "addresses or networks that it may be used from: 10.0.0.0/8; default any",
        },
      },
      async run(io) {
        const made = await io.gateway.request<KeyView & { key: string }>(
          "POST",
          "/keys",
          bodyOf(io),
        );
        io.show(made, ({ key, warnings = [] }) => [
          key,
          "",
          "This is the only time that the key is shown.",
          ...warnings.map((warning) => `warning: ${warning}`),
        ]);
      },
    },
    {
      name: "rotate",
      summary: "Give a key a new secret: the old one works on for a while",
      args: [{ name: "name", description: "the key's name" }],
      options: {
        overlap: {
          type: "string",
          value: "TIME",
          description: "how long both secrets work: 24h (default), 30m, 0",
        },
      },
      async run(io) {
        const { overlap } = io.options;
        const made = await io.gateway.request<KeyView & { key: string }>(
          "POST",
          `/keys/${encodeURIComponent(io.args["name"] ?? "")}/rotate`,
          overlap === undefined ? {} : { overlap },
        );
        io.show(made, ({ name, key, previousUntil }) => [
          key,
          "",
          "This is the only time that the key is shown.",
          previousUntil === undefined
            ? `The old secret of ${name} opens nothing any more.`
            : `The old secret of ${name} works until ${previousUntil}.`,
        ]);
      },
    },
    {
      name: "list",
      summary: "All keys with their limits",
      async run(io) {
        const { keys } = await io.gateway.request<{ keys: KeyView[] }>("GET", "/keys");
        io.show({ keys }, () => [
          ...io.table(
            ["NAME", "STATE", "MODELS", "REQUESTS/MIN", "TOKENS/MIN", "BUDGET", "EXPIRES"],
            keys.map((key) => [
              key.name,
              key.state,
              key.models?.join(", ") ?? "all but agent",
              key.requestsPerMinute ?? "",
              key.tokensPerMinute ?? "",
              budgetOf(key),
              key.expiresAt ?? key.expires ?? "",
            ]),
          ),
          ...keys.flatMap(({ name, warnings = [] }) =>
            warnings.map((warning) => `warning: ${name}: ${warning}`),
          ),
        ]);
      },
    },
    {
      name: "revoke",
      summary: "Take a key away: it opens nothing from now on",
      args: [{ name: "name", description: "the key's name" }],
      async run(io) {
        const name = io.args["name"] ?? "";
        const result = await io.gateway.request<object>(
          "DELETE",
          `/keys/${encodeURIComponent(name)}`,
        );
        io.show(result, () => `${name} is revoked.`);
      },
    },
  ],
});

function bodyOf({ args, options }: CommandIO): Record<string, unknown> {
  return {
    name: args["name"],
    models: listed(options["models"]),
    requestsPerMinute: options["rpm"],
    tokensPerMinute: options["tpm"],
    budget: options["budget"] === undefined ? undefined : readBudget(String(options["budget"])),
    expiresAt:
      options["expires"] === undefined ? undefined : readExpiry(String(options["expires"])),
    allowedIps: listed(options["allow"]),
  };
}

/** A list with commas, or an option that is given several times. */
function listed(value: unknown): string[] | undefined {
  const texts = value as string[] | undefined;
  return texts?.flatMap((text) => text.split(",")).map((text) => text.trim());
}

function readBudget(text: string): { usd: number; per: string } {
  const found = /^\$?(\d+(?:\.\d+)?)\/(day|month)$/.exec(text);
  if (!found)
    throw new Error(
      `--budget takes an amount in US dollars and a period, as 5/day or 100/month: ${text}`,
    );
  return { usd: Number(found[1]), per: found[2]! };
}

function readExpiry(text: string): string {
  const span = /^(\d{1,5})([hdw])$/.exec(text);
  if (span) {
    const hours = Number(span[1]) * { h: 1, d: 24, w: 168 }[span[2] as "h" | "d" | "w"];
    return new Date(Date.now() + hours * 3_600_000).toISOString();
  }
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  const unit = /^\d+([a-z]+)$/i.exec(text)?.[1];
  const reason =
    unit && !/^[hdw]$/.test(unit)
      ? `${unit} is no unit of time here: take h, d or w`
      : `"${text}" is no time`;
  throw new Error(
    `${reason}. --expires takes a date (2026-12-31), a time, or how long from now (12h, 30d, 4w).`,
  );
}

function budgetOf({ budget, spentUsd }: KeyView): string {
  if (budget === undefined) return "";
  const spent = spentUsd == null ? "?" : `$${Number(spentUsd.toFixed(4))}`;
  return `${spent} of $${budget.usd} per ${budget.per}`;
}
