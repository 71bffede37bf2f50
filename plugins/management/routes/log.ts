/** `/kernel/logs`: the last log lines, and a stream of further ones. */
import type { Call, Management, Mount, PluginContext, Static } from "portico";
import type {} from "portico/cluster";
import { feedsOf } from "portico/event-stream";
import type { AllWorkers } from "../all-workers.ts";
import { gatewayRoutes, LEVELS, type logsQuery } from "./routes-schema.ts";

type Mounting = Mount & Pick<PluginContext, "on" | "add">;
type Log = Pick<Management["log"], "follow">;
type Lines = Pick<AllWorkers, "lines">;

export function mountLogRoute(mount: Mounting, { log }: { log: Log }, allWorkers: Lines): void {
  mount.add("feed", { name: "log", ofOneGateway: true, begin: (send) => log.follow(send) });
  const parts = { add: mount.add, log, lines: () => allWorkers.lines(), open: feedsOf(mount) };
  mount.route("GET", "/kernel/logs", gatewayRoutes.logs, (call) => respond(call, parts));
}

type Parts = Pick<Mounting, "add"> & Lines & { log: Log; open: ReturnType<typeof feedsOf> };

/** Selects lines by level and number. */
interface Selection {
  filter(all: readonly string[]): object[];
  last(all: readonly string[]): object[];
  /** True if the client wants no past lines. */
  isEmpty: boolean;
}

async function respond(call: Call, parts: Parts): Promise<unknown> {
  const { lines, level, follow } = await call.input<Required<Static<typeof logsQuery>>>();
  const selection = select(lines, level);
  if (follow === "true") return stream(call, parts, selection);
  return { lines: selection.last(await parts.lines()) };
}

function select(count: number, level: (typeof LEVELS)[number]): Selection {
  const minimum = LEVELS.indexOf(level);
  const filter = (all: readonly string[]) =>
    all
      .map((line) => JSON.parse(line) as { level: (typeof LEVELS)[number] })
      .filter((line) => LEVELS.indexOf(line.level) >= minimum);
  const last = (all: readonly string[]) => (count > 0 ? filter(all).slice(-count) : []);
  return { filter, last, isEmpty: count === 0 };
}

/** Sends the last lines, and then each new one, as server-sent events. */
async function stream(
  call: Call,
  { add, log, lines, open }: Parts,
  { filter, last, isEmpty }: Selection,
): Promise<void> {
  // Other workers may need seconds to send their lines. New lines are buffered until then, and sent only once.
  const buffered = new Set<string>();
  let handleLine = (line: string): unknown => buffered.add(line);
  const follow = (line: unknown) => void handleLine(line as string);
  const disposers = [log.follow(follow), add("feedWatcher", { name: "log", take: follow })];
  const end = () => disposers.forEach((undo) => void undo());
  try {
    const all = isEmpty ? [] : await lines();
    for (const line of all) buffered.delete(line);
    const sse = open(call);
    sse.onClose(end);
    const send = (entries: readonly object[]) =>
      entries.forEach((entry) => void sse.send(undefined, entry));
    send(last(all));
    send(filter([...buffered]));
    handleLine = (line) => send(filter([line]));
  } catch (error) {
    end();
    throw error;
  }
}
