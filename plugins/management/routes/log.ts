/** `/kernel/logs`: the last lines, and those that follow. */
import { type Call, type Management, type Mount, type PluginContext, PorticoError } from "portico";
import type {} from "portico/cluster";
import { feedsOf } from "portico/event-stream";
import type { Everywhere } from "../everywhere.ts";
import { gatewayRoutes } from "./routes-schema.ts";

type Mounting = Mount & Pick<PluginContext, "on" | "add" | "find">;
type Log = Pick<Management["log"], "follow">;
type Lines = Pick<Everywhere, "lines">;

export function mountLogRoute(mount: Mounting, { log }: { log: Log }, everywhere: Lines): void {
  mount.add("feed", { name: "log", ofOneGateway: true, begin: (send) => log.follow(send) });
  const parts = { find: mount.find, log, lines: everywhere.lines, open: feedsOf(mount) };
  mount.route("GET", "/kernel/logs", gatewayRoutes.logs, (call) => serve(call, parts));
}

type Parts = Pick<Mounting, "find"> & Lines & { log: Log; open: ReturnType<typeof feedsOf> };

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"];

/** `?lines=N` gives the last lines, of `?level=L` and above; with `?follow=true` further ones come as server-sent events. */
async function serve(call: Call, { find, log, lines, open }: Parts): Promise<unknown> {
  const count = Number(call.query.get("lines") ?? 100);
  if (!Number.isInteger(count) || count < 0)
    throw new PorticoError("invalid_request_error", "lines is a number of lines.", {
      param: "lines",
    });
  const least = LEVELS.indexOf(call.query.get("level") ?? "trace");
  if (least === -1)
    throw new PorticoError("invalid_request_error", `level is one of ${LEVELS.join(", ")}.`, {
      param: "level",
    });
  const wanted = (all: readonly string[]) =>
    all
      .map((line) => JSON.parse(line) as { level: string })
      .filter(({ level }) => LEVELS.indexOf(level) >= least);
  const last = (all: readonly string[]) => (count > 0 ? wanted(all).slice(-count) : []);
  if (call.query.get("follow") !== "true") return { lines: last(await lines()) };

  // Other workers may take seconds to say theirs: what is logged meanwhile comes after that, and once.
  const meanwhile = new Set<string>();
  let take = (line: string): unknown => meanwhile.add(line);
  const follow = (line: unknown) => void take(line as string);
  const unfollow = [log.follow(follow), find("cluster")?.watch("log", follow)];
  const end = () => unfollow.forEach((undo) => void undo?.());
  try {
    const all = count > 0 ? await lines() : [];
    for (const line of all) meanwhile.delete(line);
    const sse = open(call);
    sse.onClose(end);
    const say = (entries: readonly object[]) =>
      entries.forEach((entry) => void sse.send(undefined, entry));
    say(last(all));
    say(wanted([...meanwhile]));
    take = (line) => say(wanted([line]));
  } catch (error) {
    end();
    throw error;
  }
  return undefined;
}
