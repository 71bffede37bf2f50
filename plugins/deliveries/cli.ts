import { type Command, type CommandIO, defineCommand } from "portico/command-line";
import { shortIds } from "portico/store";

interface DeliveryView {
  id: string;
  url: string;
  type: string;
  turnId?: string;
  state: string;
  attempts: number;
  maxAttempts: number;
  createdAt: string;
  finishedAt?: string;
  nextAttemptAt?: string;
  status?: number;
  error?: { code: string; message: string };
  signed?: boolean;
  headers?: Record<string, string>;
  message?: unknown;
}

const delivery = { name: "delivery", description: "Its id, or the end or beginning of it" };

const at = (io: CommandIO, tail = ""): string =>
  `/deliveries/${encodeURIComponent(io.args["delivery"] ?? "")}${tail}`;

function details(one: DeliveryView): string[] {
  const rows: [string, string | undefined][] = [
    ["to", `${one.url}${one.signed ? " (signed)" : ""}`],
    ["made", one.createdAt],
    ["ended", one.finishedAt],
    ["next try", one.nextAttemptAt],
    ["attempts", `${one.attempts} of ${one.maxAttempts}`],
    ["error", one.error && `${one.error.code}: ${one.error.message}`],
    ...Object.entries(one.headers ?? {}).map(([name, value]): [string, string] => [
      "header",
      `${name}: ${value}`,
    ]),
  ];
  return [
    `${one.id}  ${one.state}${one.status === undefined ? "" : ` (${one.status})`}`,
    ...rows
      .filter(([, text]) => text !== undefined)
      .map(([label, text]) => `${label.padEnd(11)} ${text}`),
    "",
    JSON.stringify(one.message, null, 2),
  ];
}

const list: Command = {
  name: "list",
  summary: "Newest first",
  options: {
    state: {
      type: "string",
      choices: ["queued", "running", "done", "dead", "cancelled"],
      description: "Only those in this state",
    },
    limit: { type: "number", value: "N", description: "How many; default 50" },
  },
  run: async (io) =>
    io.show(
      await io.gateway.request<{ deliveries: DeliveryView[] }>("GET", "/deliveries", undefined, {
        query: io.options as Record<string, string | number | undefined>,
      }),
      ({ deliveries }) => {
        const ids = shortIds(deliveries.map(({ id }) => id));
        return io.table(
          ["ID", "MADE", "STATE", "TRIES", "TO", ""],
          deliveries.map((one, index) => [
            ids[index],
            one.createdAt,
            one.state,
            `${one.attempts}/${one.maxAttempts}`,
            one.url,
            one.error?.message ?? "",
          ]),
        );
      },
    ),
};

export default defineCommand({
  name: "deliveries",
  summary: "Results that are posted to URLs: what went out, what did not",
  // Without a further word it lists them.
  options: list.options,
  run: list.run,
  examples: ["portico deliveries list --state dead", "portico deliveries replay 7585e9"],
  commands: [
    list,
    {
      name: "show",
      summary: "One delivery with its message, secrets masked",
      args: [delivery],
      run: async (io) => io.show(await io.gateway.request<DeliveryView>("GET", at(io)), details),
    },
    {
      name: "replay",
      summary: "Post it once more",
      args: [delivery],
      run: async (io) =>
        io.show(
          await io.gateway.request<{ deliveryId: string; replayOf: string }>(
            "POST",
            at(io, "/replay"),
          ),
          (one) => `${one.replayOf}: goes out again as ${one.deliveryId}`,
        ),
    },
  ],
});
