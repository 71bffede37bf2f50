/** A hook host over the real file system and the real bus, loader and log, in a home of its own. */
import type { EmitResult, EventName, EventSpec, HookContextMember, HookInfo, Paths } from "portico";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as assert from "uvu/assert";
import { Bus } from "../../../../../kernel/host/bus.ts";
import { kernelEvents } from "../../../../../kernel/gateway/events.ts";
import { Loader } from "../../../../../kernel/loader/load.ts";
import { cacheName } from "../../../../../kernel/package-loader.ts";
import { HookHost } from "../../../../../kernel/host/extensions/hooks/host.ts";
import type { HookSettings } from "../../../../../kernel/host/extensions/hooks/settings.ts";
import { checkHook } from "../../../../../plugins/management/hooks/check.ts";
import { describeHook } from "../../../../../plugins/management/hooks/record.ts";
import { type HookRunRequest, runHook } from "../../../../../plugins/management/hooks/run.ts";
import { disableHook, enableHook } from "../../../../../plugins/management/hooks/switch.ts";
import { createLog } from "../../../../../kernel/log/log.ts";
import { temporaryDir } from "../../../../support/temporary.ts";

process.setSourceMapsEnabled(true);

declare module "portico" {
  interface EventEffects {
    "test:asked": { changes: "text" | "list"; may: "reply" | "block" };
  }
  interface Events {
    "test:asked": { text: string; list: string[]; fixed: string };
    "test:noticed": { n: number };
  }
}

export interface HookHome {
  dir: string;
  paths: Paths;
  host: ReturnType<typeof withManagement>;
  bus: Bus;
  /** What plugins add to a hook's `ctx`, by name. */
  members: Map<string, HookContextMember>;
  settings: HookSettings;
  config: Record<string, unknown>;
  lines: Record<string, unknown>[];
  /** Writes a file below the home as most editors do: a temporary file that is renamed. */
  write(path: string, text: string): void;
  remove(path: string): void;
  ask(text: string): Promise<EmitResult<"test:asked">>;
  stop(): Promise<void>;
}

export interface HookHomeOptions {
  settings?: Partial<HookSettings>;
  files?: Record<string, string>;
  env?: Record<string, string>;
  config?: Record<string, unknown>;
  /** Asks, as in a worker, whether the others activate a version too. */
  agree?: (subject: string, id: string, refusal?: Error) => Promise<void>;
  /** Called for each read of a handler. */
  reading?: (entry: string) => void;
  /** Leaves the start to the test. */
  idle?: boolean;
}

/** HOOK.md for `test:asked`, with further lines of front matter. */
const memberNames = ["kv", "chat"];

export function descriptor(more = "", events = "test:asked"): string {
  return `---\nevents: [${events}]\n${more}${more && !more.endsWith("\n") ? "\n" : ""}---\n\n# A hook\n`;
}

/** A handler that replies with a text. */
export function answering(text: string): string {
  return `export default () => ({ reply: ${JSON.stringify(text)} });\n`;
}

export async function makeHookHome(options: HookHomeOptions = {}): Promise<HookHome> {
  const dir = temporaryDir("portico-hooks-");
  const paths: Paths = {
    home: dir,
    config: join(dir, "portico.json"),
    state: join(dir, "state"),
    workspace: join(dir, "workspace"),
    tmp: join(dir, "tmp"),
    package: join(dir, "package"),
  };
  const write = (path: string, text: string) => {
    const file = join(dir, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.tmp`, text);
    renameSync(`${file}.tmp`, file);
  };
  for (const [path, text] of Object.entries(options.files ?? {})) write(path, text);
  const settings: HookSettings = {
    enabled: true,
    entries: {},
    extraDirs: [],
    trust: "all",
    ...options.settings,
  };
  const config = options.config ?? {};
  const lines: Record<string, unknown>[] = [];
  const book = createLog({ level: "debug", write: (line) => lines.push(JSON.parse(line)) });
  const bus = new Bus(book.log);
  for (const [name, spec] of Object.entries(kernelEvents))
    bus.declare(name as EventName, spec as EventSpec);
  bus.declare("test:asked", {
    mode: "answer",
    description: "Somebody asks.",
    changes: ["text", "list"],
    sample: { text: "hello", list: [], fixed: "stays" },
  });
  bus.declare("test:noticed", {
    mode: "notify",
    description: "Something happens.",
    sample: { n: 1 },
  });
  const members = new Map<string, HookContextMember>();
  const hooks = new HookHost({
    paths,
    env: () => ({ PATH: process.env["PATH"], ...options.env }),
    log: book.log,
    bus,
    members: () => [...members.values()],
    memberNames: () => memberNames,
    loader: new Loader({
      host: async () => ({}),
      cacheFile(entry) {
        options.reading?.(entry);
        return join(dir, "cache", cacheName(entry));
      },
    }),
    settings: () => settings,
    lookup: (key) => config[key],
    secrets: () => ["the-token-of-the-gateway"],
    agree: options.agree,
  });
  const host = withManagement(hooks, bus, settings);
  if (!options.idle) await host.start();
  return {
    dir,
    paths,
    host,
    bus,
    members,
    settings,
    config,
    lines,
    write,
    remove: (path) => rmSync(join(dir, path), { recursive: true, force: true }),
    ask: (text) =>
      bus.emit("test:asked", { text, list: [], fixed: "stays" }, { principal: "owner" }),
    stop: () => host.stop(),
  };
}

/** The host with the operations of the management plugin. */
function withManagement(hooks: HookHost, bus: Bus, settings: HookSettings) {
  const config = {
    async set([, , name = "", key]: readonly (string | number)[], value: unknown) {
      assert.is(key, "enabled");
      settings.entries[name] = { ...settings.entries[name], enabled: value as boolean };
    },
  };
  const describe = (info: HookInfo) => describeHook(info, bus.specs());
  return {
    rescan: (dirs?: readonly string[]) => hooks.rescan(dirs),
    reload: (name?: string) => hooks.reload(name),
    reconfigure: (keys: readonly string[]) => hooks.reconfigure(keys),
    watching: () => hooks.watching(),
    standings: () => hooks.standings(),
    logs: (name: string, count?: number) => hooks.logs(name, count),
    strayError: (owner: string, error: unknown) => hooks.strayError(owner, error),
    inTurn: (work: () => Promise<void>) => hooks.inTurn(work),
    stop: () => hooks.stop(),
    async start(): Promise<void> {
      await hooks.prepare();
      await hooks.start();
    },
    list: () => hooks.list().map(describe),
    info: (name: string) => describe(hooks.info(name)),
    approve: async (name: string) => describe(await hooks.approve(name)),
    enable: async (name: string) => describe(await enableHook({ hooks, config }, name)),
    disable: async (name: string) => describe(await disableHook({ hooks, config }, name)),
    check: async (name: string) => checkHook(await hooks.look(name), bus.specs()),
    run: (name: string, request: HookRunRequest) =>
      runHook({ hooks, events: () => bus.specs() }, name, request),
  };
}

/** Fails where the work does not throw, or throws something else. */
export async function rejects(work: () => unknown, message: RegExp): Promise<void> {
  let error: Error | undefined;
  try {
    await work();
  } catch (thrown) {
    error = thrown as Error;
  }
  assert.ok(error, "it did not throw");
  assert.match(error.message, message);
}
