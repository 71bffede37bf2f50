/** Gateways as processes over one PostgreSQL: killed, paused, cut off, and the server crashed under them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { openStore } from "../../../../plugins/store/open.ts";
import type { Store } from "../../../../plugins/store/types.ts";
import { program } from "../../../support/runner/bundle.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { quietLog } from "../../../support/quiet-log.ts";
import { suite } from "../../../support/suite.ts";
import { until } from "../../../support/until.ts";
import { random } from "../temporary-store.ts";

const MEMBER = join(import.meta.dirname, "member.program.ts");
/** As the members have it. */
const LEASE_MS = 700;
const test = suite("processes over one PostgreSQL");
const next = random(11);
let server: TestPostgres;
let store: Store;
let url: string;
let members: Member[] = [];

interface Member {
  child: ChildProcess;
  /** The values printed after this word so far. */
  said(word: string): string[];
  kill(): Promise<void>;
}

test.before(async () => {
  // a crash of the server leaves what it has written to the system: whether the disk keeps its word is not asked here
  server = await startPostgres({ settings: ["fsync=off"] });
});
test.before.each(async () => {
  url = server.emptyUrl();
  store = openStore({ url, log: quietLog() });
  await store.open();
});
test.after.each(async () => {
  await Promise.all(members.map((member) => member.kill()));
  members = [];
  await store.close();
});
test.after(() => server.stop());

function start(name: string, mode = "work"): Member {
  const child = spawn(process.execPath, [...program(MEMBER), url, name, mode], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8");
  });
  const member: Member = {
    child,
    // A line that the kill cut off does not count.
    said: (word) =>
      output
        .slice(0, output.lastIndexOf("\n") + 1)
        .split("\n")
        .filter((line) => line.startsWith(word))
        .map((line) => line.slice(word.length + 1)),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
  members.push(member);
  return member;
}

const allSaid = (word: string) => members.flatMap((member) => member.said(word));

/** So much more of everybody's work has gone through. */
async function progress(count: number): Promise<void> {
  const before = allSaid("added").length + allSaid("finished").length;
  await until(
    "more work",
    () => allSaid("added").length + allSaid("finished").length >= before + count,
  );
}

async function expectAllWell(): Promise<void> {
  await Promise.all(members.map((member) => member.kill()));
  for (const id of allSaid("added")) {
    assert.ok(await store.items.get(id), `${id} was acknowledged and is gone`);
    assert.ok(await store.deliveries.get(`d-${id}`), `the delivery of ${id} is gone`);
  }
  const finished = allSaid("finished");
  assert.is(new Set(finished).size, finished.length, "an item was finished twice");
  for (const id of finished) assert.is((await store.items.get(id))?.state, "done");
  for (const { id } of await store.sessions.list({ limit: 1000 })) {
    const transcript = (await store.sessions.transcript(id)).map(
      ({ body }) => body as string | number,
    );
    assert.is(
      new Set(transcript).size,
      transcript.length,
      `${id}: a finish or a slot was written twice`,
    );
    const numbers = transcript.map((each) => Number(String(each).split("-").at(-1)));
    assert.equal(
      numbers,
      [...numbers].sort((a, b) => a - b),
      `${id}: out of order`,
    );
  }
  const slots = (await store.sessions.transcript("slots")).map(({ body }) => String(body));
  for (const slot of allSaid("fired")) assert.ok(slots.includes(slot), `the slot ${slot} is gone`);
  assert.equal(await store.check(), []);
}

/** What can happen to gateways; each takes some of their time, and leaves as many of them running. */
const mishaps = {
  async kill(running: Member[]): Promise<void> {
    await take(running).kill();
    running.push(start(`k${members.length}`));
  },
  async pause(running: Member[]): Promise<void> {
    const late = take(running);
    late.child.kill("SIGSTOP");
    const paused = performance.now();
    await progress(30);
    await until("its leases to end", () => performance.now() - paused > LEASE_MS);
    late.child.kill("SIGCONT");
    running.push(late);
  },
  async cut(): Promise<void> {
    server.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'portico'",
    );
  },
  async crash(): Promise<void> {
    await server.stop("immediate");
    await server.start();
  },
};
const take = (running: Member[]) =>
  running.splice(Math.floor(next() * running.length), 1)[0] as Member;

for (const count of [2, 4]) {
  test(`${count} that are killed, paused and cut off, over a server that crashes, lose nothing, finish nothing twice, and keep to one limit`, async () => {
    await store.schedules.put({
      kind: "cron",
      id: "job",
      enabled: true,
      nextAt: store.now(),
      body: {},
    });
    const running = Array.from({ length: count }, (_, n) => start(`m${n}`));
    await until("all at work", () => running.every((member) => member.said("finished").length > 0));
    for (const mishap of ["kill", "cut", "pause", "crash", "kill"] as const) {
      await progress(20 + Math.floor(next() * 40));
      await mishaps[mishap](running);
    }
    await progress(50);
    await until("the limit to be used up", () => allSaid("denied").length > 0);
    await expectAllWell();
    // what a killed process was not told any more counts too: it was written
    const accepted = await store.items.list({ kind: "limited", limit: 1000 });
    assert.is(accepted.length, 40);
    assert.ok(allSaid("fired").length > 10, "slots are fired all the time");
  });
}

test("a gateway that is paused beyond its lease wakes up late, and its finish is refused", async () => {
  await store.enqueue({ items: [{ id: "t1", lane: "a", kind: "turn", body: {} }] });
  const late = start("late", "hold");
  await until("its claim", () => late.said("claimed")[0] === "t1");
  late.child.kill("SIGSTOP");
  const claim = await until(
    "the lease to end",
    async () => (await store.claim("other", 1, 30_000, ["turn"]))[0],
  );
  assert.is(claim.item.attempts, 2);
  const messages = [{ session: "held", messages: [{ role: "assistant", body: "other" }] }];
  assert.ok(await store.finish(claim, { state: "done" }, { messages }));
  late.child.kill("SIGCONT");
  late.child.stdin?.write("go on\n");
  await until("its word", () => late.said("extended").length > 0);
  assert.equal([late.said("owned"), late.said("extended")], [["false"], ["false"]]);
  assert.equal(
    (await store.sessions.transcript("held")).map(({ body }) => body),
    ["other"],
  );
});

test.run();
