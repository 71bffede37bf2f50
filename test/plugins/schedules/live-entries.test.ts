/** Entries whose opening failed half-way has left nothing behind when it is opened again. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { PorticoError } from "../../../kernel/errors.ts";
import type { ScheduleEntry } from "../../../plugins/schedules/entries.ts";
import { createLoopSwitch } from "../../../plugins/schedules/due-loop.ts";
import { openLiveEntries } from "../../../plugins/schedules/live-entries.ts";
import type { PluginContext } from "../../../kernel/contract/index.ts";
import { quietLog } from "../../support/quiet-log.ts";

interface Job {
  enabled?: boolean;
  right: boolean;
}
interface Settings {
  enabled: boolean;
  jobs: Record<string, Job>;
}
type Options = Parameters<typeof openLiveEntries<Settings, Job, ScheduleEntry>>[0];

/** The calls of a context and its store, and their undos. */
function around() {
  const checks = new Set<() => string | undefined>();
  const listeners = new Set<() => void>();
  const keep =
    <T>(set: Set<T>) =>
    (listener: T) => {
      set.add(listener);
      return () => void set.delete(listener);
    };
  const onWork = (_kind: string, listener: () => void) => keep(listeners)(listener);
  const ctx = {
    log: quietLog(),
    readiness: keep(checks),
    use: () => ({ onWork }),
  } as unknown as PluginContext;
  return { ctx, checks, listeners, unready: () => [...checks].flatMap((check) => check() ?? []) };
}

function open(
  ctx: PluginContext,
  settings: Settings,
  fails: { sync?: boolean; loop?: boolean } = {},
) {
  const step = async (fail = false) => {
    if (fail) throw new Error("the store is away");
  };
  return openLiveEntries<Settings, Job, ScheduleEntry>({
    ctx,
    kind: "test",
    entries: {
      problems: (entries) =>
        new Map(
          Object.entries(entries)
            .filter(([, { right }]) => !right)
            .map(([name]) => [name, new PorticoError("config_error", `${name} is wrong`)]),
        ),
      sync: () => step(fails.sync).then(() => []),
    } as Options["entries"],
    loop: createLoopSwitch({
      ctx,
      kind: "test",
      start() {
        if (fails.loop) throw new Error("no loop");
        return { poke() {}, stop: async () => {} };
      },
      work: () => ({ run: async () => 0 }),
    }),
    settings,
    definitions: ({ jobs }) => jobs,
    prepare: () => step(),
  });
}

const wrong: Settings = { enabled: true, jobs: { a: { right: false } } };
const right: Settings = { enabled: true, jobs: { a: { right: true } } };

test("a failed opening leaves no check and no listener", async () => {
  const { ctx, checks, listeners } = around();
  for (const fails of [{ sync: true }, { loop: true }]) {
    await open(ctx, wrong, fails).then(
      () => assert.unreachable("it opened"),
      () => {},
    );
    assert.is(checks.size, 0);
    assert.is(listeners.size, 0);
  }
});

test("wrong definitions keep the gateway from being ready until right ones are applied", async () => {
  const { ctx, unready, checks, listeners } = around();
  const entries = await open(ctx, wrong);
  assert.equal(unready(), ["a is wrong"]);
  await entries.apply(right);
  assert.equal(unready(), []);
  await entries.stop();
  assert.is(checks.size + listeners.size, 0);
});

test("a mistake at the start does not prevent other changes from being applied", async () => {
  const { ctx, unready } = around();
  const entries = await open(ctx, wrong);
  await entries.apply({ ...wrong, jobs: { ...wrong.jobs, b: { right: true } } });
  assert.equal(unready(), ["a is wrong"]);
  const news: Settings["jobs"][] = [
    { a: { right: false, enabled: true } },
    { ...wrong.jobs, b: { right: false } },
  ];
  for (const jobs of news)
    await entries.apply({ enabled: true, jobs }).then(
      () => assert.unreachable("it was applied"),
      ({ message }: Error) => assert.match(message, "is wrong"),
    );
  await entries.apply(right);
  await entries.apply(wrong);
  assert.equal(
    unready(),
    ["a is wrong"],
    "as it was: a change that somebody else refuses is taken back",
  );
  await entries.stop();
});

test.run();
