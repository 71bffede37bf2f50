/** `/kernel/logs`: the last lines, and those that follow. */
import type { Call, Management, Mount, PluginContext, Static } from "portico";
import type {} from "portico/cluster";
import { feedsOf } from "portico/event-stream";
import type { Everywhere } from "../everywhere.ts";
import { gatewayRoutes, LEVELS, type logsQuery } from "./routes-schema.ts";

type Mounting = Mount & Pick<PluginContext, "on" | "add">;
type Log = Pick<Management["log"], "follow">;
type Lines = Pick<Everywhere, "lines">;

export function mountLogRoute(mount: Mounting, { log }: { log: Log }, everywhere: Lines): void {
  mount.add("feed", { name: "log", ofOneGateway: true, begin: (send) => log.follow(send) });
  const parts = { add: mount.add, log, lines: () => everywhere.lines(), open: feedsOf(mount) };
  mount.route("GET", "/kernel/logs", gatewayRoutes.logs, (call) => respond(call, parts));
}

type Parts = Pick<Mounting, "add"> & Lines & { log: Log; open: ReturnType<typeof feedsOf> };

/** Picks lines by level and number. */
interface Selection {
  wanted(all: readonly string[]): object[];
  last(all: readonly string[]): object[];
  /** No past lines are wanted. */
  isEmpty: boolean;
}

async function respond(call: Call, parts: Parts): Promise<unknown> {
  const { lines, level, follow } = await call.input<Required<Static<typeof logsQuery>>>();
  const selection = select(lines, level);
  if (follow === "true") return stream(call, parts, selection);
  return { lines: selection.last(await parts.lines()) };
}

function select(count: number, level: (typeof LEVELS)[number]): Selection {
  const least = LEVELS.indexOf(level);
  const wanted = (all: readonly string[]) =>
    all
      .map((line) => JSON.parse(line) as { level: (typeof LEVELS)[number] })
      .filter((line) => LEVELS.indexOf(line.level) >= least);
  const last = (all: readonly string[]) => (count > 0 ? wanted(all).slice(-count) : []);
  return { wanted, last, isEmpty: count === 0 };
}

/** Sends the last lines and then each further one as server-sent events. */
async function stream(
  call: Call,
  { add, log, lines, open }: Parts,
  { wanted, last, isEmpty }: Selection,
): Promise<void> {
  // Other workers may need seconds to send their lines. What is logged meanwhile follows after those, and only once.
  const meanwhile = new Set<string>();
  let take = (line: string): unknown => meanwhile.add(line);
  const follow = (line: unknown) => void take(line as string);
  const unfollow = [log.follow(follow), add("feedWatcher", { name: "log", take: follow })];
  const end = () => unfollow.forEach((undo) => void undo());
  try {
    const all = isEmpty ? [] : await lines();
    for (const line of all) meanwhile.delete(line);
    const sse = open(call);
    sse.onClose(end);
    const send = (entries: readonly object[]) =>
      entries.forEach((entry) => void sse.send(undefined, entry));
    send(last(all));
    send(wanted([...meanwhile]));
    take = (line) => send(wanted([line]));
  } catch (error) {
    end();
    throw error;
  }
}
