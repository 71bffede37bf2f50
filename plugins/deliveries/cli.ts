import { commandFor, defineCommand } from "portico/command-line";
import { shortIds } from "portico/store";
import { deliveryRoutes } from "./routes-schema.ts";

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

interface Replay {
  deliveryId: string;
  replayOf: string;
}

const delivery = {
  name: "delivery",
  description: "The id of the delivery, or the beginning or end of the id",
};

function describeDelivery(delivery: DeliveryView): string[] {
  const rows: [string, string | undefined][] = [
    ["to", `${delivery.url}${delivery.signed ? " (signed)" : ""}`],
    ["made", delivery.createdAt],
    ["ended", delivery.finishedAt],
    ["next try", delivery.nextAttemptAt],
    ["attempts", `${delivery.attempts} of ${delivery.maxAttempts}`],
    ["error", delivery.error && `${delivery.error.code}: ${delivery.error.message}`],
    ...Object.entries(delivery.headers ?? {}).map(([name, value]): [string, string] => [
      "header",
      `${name}: ${value}`,
    ]),
  ];
  return [
    `${delivery.id}  ${delivery.state}${delivery.status === undefined ? "" : ` (${delivery.status})`}`,
    ...rows
      .filter(([, text]) => text !== undefined)
      .map(([label, text]) => `${label.padEnd(11)} ${text}`),
    "",
    JSON.stringify(delivery.message, null, 2),
  ];
}

const list = commandFor<{ deliveries: DeliveryView[] }>("GET /deliveries", deliveryRoutes.list, {
  name: "list",
  summary: "List the deliveries, newest first",
  view({ deliveries }, io) {
    const ids = shortIds(deliveries.map(({ id }) => id));
    return io.table(
      ["ID", "MADE", "STATE", "TRIES", "TO", ""],
      deliveries.map((delivery, index) => [
        ids[index],
        delivery.createdAt,
        delivery.state,
        `${delivery.attempts}/${delivery.maxAttempts}`,
        delivery.url,
        delivery.error?.message ?? "",
      ]),
    );
  },
});

const show = commandFor<DeliveryView>("GET /deliveries/:id", deliveryRoutes.show, {
  name: "show",
  summary: "Show a delivery with its message, secrets masked",
  args: [delivery],
  view: describeDelivery,
});

const replay = commandFor<Replay>("POST /deliveries/:id/replay", deliveryRoutes.replay, {
  name: "replay",
  args: [delivery],
  view: ({ replayOf, deliveryId }) => `The delivery ${replayOf} is sent again as ${deliveryId}.`,
});

export default defineCommand({
  ...list, // without a subcommand, it lists the deliveries
  name: "deliveries",
  summary: "List, show and replay the results that the gateway posts to URLs",
  examples: ["portico deliveries list --state dead", "portico deliveries replay 7585e9"],
  commands: [list, show, replay],
});
