import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { createClaimLoop, type Stopped } from "../../../plugins/schedules/claim-loop.ts";
import { isDead, newWorker } from "../../../plugins/schedules/worker-name.ts";
import type { Claim, Store } from "../../../plugins/store/types.ts";
import type { Logger } from "../../../kernel/contract/index.ts";
import { startUnreaped } from "../../support/machine/unreaped.ts";
import { test } from "../../support/suite.ts";
import { firstLine, until } from "../../support/until.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger;
const claimOf = (id: string) =>
  ({ worker: "w", token: 1, leaseUntil: 0, item: { id, lane: id } }) as Claim;

function gate<T = void>() {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A store whose results the test chooses; `work` announces new work to a loop. */
function fakeStore(
  answers: Partial<
    Pick<Store, "abandon" | "claim" | "extend" | "inSoleUse" | "nextWorkAt" | "workers">
  >,
) {
  let wake = () => {};
  const store = {
    claim: async () => [],
    extend: async () => true,
    nextWorkAt: async () => undefined,
    now: () => 0,
    abandon: async () => 0,
    workers: async () => [],
    inSoleUse: () => false,
    onWork: (_kind: string, notify: () => void) => {
      wake = notify;
      return () => {
        wake = () => {};
      };
    },
    ...answers,
  };
  return { store: () => store as unknown as Store, work: () => wake() };
}

function loopOver(
  store: () => Store,
  run: (claim: Claim, signal: AbortSignal) => Promise<void>,
  { most = 8, leaseMs = 30_000 } = {},
) {
  return createClaimLoop({ store, log: silent, kinds: ["k"], leaseMs, most: () => most, run });
}

test("work that is announced while the loop queries the next time is claimed at once", async () => {
  const looked = gate();
  const response = gate();
  const claimed = gate<string>();
  let claims = 0;
  const { store, work } = fakeStore({
    claim: async () => (++claims === 2 ? [claimOf("late")] : []),
    nextWorkAt: async () => {
      looked.open();
      await response.opened;
      return undefined;
    },
  });
  const loop = loopOver(store, async ({ item }) => claimed.open(item.id));
  loop.start();
  await looked.opened;
  work();
  response.open();
  assert.is(await claimed.opened, "late");
  await loop.stop();
});

test("an item that is claimed while it stops is stopped with the others", async () => {
  const request = gate();
  const response = gate<Claim[]>();
  const reasons: unknown[] = [];
  const { store } = fakeStore({
    claim: () => {
      request.open();
      return response.opened;
    },
  });
  const loop = loopOver(store, async (_claim, signal) => {
    if (!signal.aborted) await once(signal, "abort");
    reasons.push(signal.reason);
  });
  loop.start();
  await request.opened;
  const stopped = loop.stop();
  response.open([claimOf("a")]);
  await stopped;
  assert.equal(
    reasons.map((reason) => (reason as Stopped).why),
    ["shutdown"],
  );
  assert.equal(loop.running(), []);
});

test("work that throws delays none that was claimed with it, and no more than may run is claimed", async () => {
  const waiting = ["bad", "b", "c"];
  const room: number[] = [];
  const done: string[] = [];
  const all = gate();
  const { store } = fakeStore({
    claim: async (_worker, max) => {
      room.push(max);
      return waiting.splice(0, max).map(claimOf);
    },
  });
  const loop = loopOver(
    store,
    async ({ item }) => {
      if (item.id === "bad") throw new Error("no");
      done.push(item.id);
      if (done.length === 2) all.open();
    },
    { most: 2 },
  );
  loop.start();
  await all.opened;
  assert.equal(done, ["b", "c"]);
  assert.is(room[0], 2);
  await loop.stop();
});

test("a lease that is lost aborts its work", async () => {
  let claims = 0;
  const ended = gate<unknown>();
  const { store } = fakeStore({
    claim: async () => (++claims === 1 ? [claimOf("a")] : []),
    extend: async () => false,
  });
  const loop = loopOver(
    store,
    async (_claim, signal) => {
      await once(signal, "abort");
      ended.open(signal.reason);
    },
    { leaseMs: 30 },
  );
  // the loop's own timers keep no process alive
  const awake = setInterval(() => {}, 1000);
  loop.start();
  assert.is(((await ended.opened) as Stopped).why, "lost");
  clearInterval(awake);
  await loop.stop();
});

test("only a running item can be cancelled", async () => {
  let claims = 0;
  const begun = gate();
  const ended = gate<unknown>();
  const { store } = fakeStore({ claim: async () => (++claims === 1 ? [claimOf("a")] : []) });
  const loop = loopOver(store, async (_claim, signal) => {
    begun.open();
    await once(signal, "abort");
    ended.open(signal.reason);
  });
  loop.start();
  await begun.opened;
  assert.not.ok(loop.cancel("b"));
  assert.ok(loop.cancel("a"));
  assert.is(((await ended.opened) as Stopped).why, "cancelled");
  await loop.stop();
});

const children: ChildProcess[] = [];
test.after(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** A process of this machine that has begun a claim loop, and the name of its worker. */
async function anotherProcess(): Promise<{ child: ChildProcess; worker: string }> {
  const loop = join(import.meta.dirname, "../../../plugins/schedules/worker-name.ts");
  const script = `import { newWorker } from ${JSON.stringify(loop)}; console.log(newWorker()); setInterval(() => {}, 1e6);`;
  const args = ["--import", "tsx", "--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return { child, worker: await firstLine(child.stdout) };
}

test("a process that dies on this machine is noticed while the loop runs, also as a zombie", async () => {
  const { child, worker } = await anotherProcess();
  const abandoned: string[] = [];
  let looks = 0;
  const { store } = fakeStore({
    workers: async () => {
      looks++;
      return [worker, newWorker(), "elsewhere/0:1.1:abc"];
    },
    abandon: async (name) => abandoned.push(name),
  });
  const loop = loopOver(store, async () => {});
  loop.start();
  await until("a second look", () => looks > 1);
  assert.equal(abandoned, []);
  const unreaped = await startUnreaped();
  const start = readFileSync(`/proc/${unreaped.pid}/stat`, "utf8").split(" ")[21];
  const zombieWorker = worker.replace(/:\d+\.\d+:/, `:${unreaped.pid}.${start}:`);
  assert.not(isDead(zombieWorker));
  await unreaped.kill();
  assert.ok(isDead(zombieWorker));
  unreaped.release();
  child.kill("SIGKILL");
  await until("the dead worker's leases to end", () => abandoned.includes(worker));
  assert.equal([...new Set(abandoned)], [worker]);
  await loop.stop();
});

test("dead processes are looked for only while another process has the store open", async () => {
  const { child, worker } = await anotherProcess();
  let leases = [worker, newWorker()];
  let isAlone = true;
  let looks = 0;
  const { store, work } = fakeStore({
    inSoleUse: () => isAlone,
    workers: async () => {
      looks++;
      return leases;
    },
    abandon: async (name) => {
      leases = leases.filter((lease) => lease !== name);
      return 1;
    },
  });
  const loop = loopOver(store, async () => {});
  loop.start();
  // the lease of one that lives, and may have closed the store a moment ago
  await until("a second look", () => looks > 1);
  child.kill("SIGKILL");
  await until("its lease to end", () => !leases.includes(worker));
  const before = looks;
  work();
  let othersLooks = 0;
  const shared = fakeStore({
    workers: async () => {
      othersLooks++;
      return [];
    },
  });
  const other = loopOver(shared.store, async () => {});
  other.start();
  await until("a loop over a store that is shared to look again", () => othersLooks > 2);
  assert.is(looks, before);
  isAlone = false;
  work();
  await until("another look", () => looks > before);
  await Promise.all([loop.stop(), other.stop()]);
});

test("after a start, leases of the same host's earlier life end; later only those of this very machine", () => {
  const earlier = newWorker().replace(/\/[^:]*:/, "/0-0:");
  assert.ok(isDead(earlier, { afterStart: true }));
  assert.not(isDead(earlier));
  assert.not(isDead(newWorker(), { afterStart: true }));
  assert.not(isDead("elsewhere/0-0:999999999.1:abc", { afterStart: true }));
});

test.run();
