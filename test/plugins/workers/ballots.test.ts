/** What all workers take up, or none: whoever sees a save late, early or not at all, dies or comes. */
import * as assert from "uvu/assert";
import { createBallots, type Vote } from "../../../plugins/workers/ballots.ts";
import { createVotes } from "../../../plugins/workers/votes.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

interface Options {
  /** Chooses the worker that continues. */
  pick?: (count: number) => number;
  /** Versions that a worker cannot load. */
  refuses?: (worker: number, id: string) => boolean;
}

/** Workers that look at one disk, each a version of one thing at a time, as hosts of extensions do. */
function scene({ pick = () => 0, refuses = () => false }: Options = {}) {
  let disk = "v1";
  /** What is on its way, or to be done; messages between two keep their order. */
  const queues = new Map<string, (() => unknown)[]>();
  const later = (queue: string, step: () => unknown) => {
    queues.set(queue, [...(queues.get(queue) ?? []), step]);
  };
  const alive = new Map<number, ReturnType<typeof begin>>();
  const all = () => [...alive.keys()];
  const ballots = createBallots({
    voters: all,
    look: (to, vote) => later(`to ${to}`, () => alive.get(to)?.votes.lookFor(vote)),
    sendDecision: (to, vote) => later(`to ${to}`, () => alive.get(to)?.votes.applyDecision(vote)),
  });

  function begin(index: number) {
    const self = {
      active: disk,
      problem: undefined as string | undefined,
      votes: createVotes(index, send),
      rescan,
    };
    let turn = Promise.resolve();
    function send(vote: Vote) {
      later(`from ${index}`, () => alive.get(index) === self && ballots.cast(index, vote));
    }
    /** The worker reads the version, and has it ready a while later. */
    async function take(): Promise<void> {
      const id = disk;
      if (id === self.active) {
        self.problem = undefined;
        return;
      }
      await new Promise<void>((resolve) => later(`work ${index}`, resolve));
      const refusal = refuses(index, id) ? new Error(`no ${id}`) : undefined;
      const decided = self.votes.cast("hooks.a", id, refusal);
      const failed = (error: Error) => {
        self.problem = error.message;
      };
      if (refusal) {
        decided.catch(() => {});
        return failed(refusal);
      }
      await decided.then(() => Object.assign(self, { active: id, problem: undefined }), failed);
    }
    function rescan(): Promise<void> {
      turn = turn.then(take);
      return turn;
    }
    self.votes.onLook(async () => {
      await rescan();
      return { id: self.active, problem: self.problem };
    });
    return self;
  }

  return {
    alive,
    save: (id: string) => {
      disk = id;
    },
    hint: (worker: number) => later(`hint ${worker}`, () => alive.get(worker)?.rescan()),
    arrive(worker: number) {
      alive.set(worker, begin(worker));
      ballots.addVoter(worker);
    },
    kill(worker: number) {
      alive.delete(worker);
      for (const queue of [`to ${worker}`, `from ${worker}`, `work ${worker}`, `hint ${worker}`])
        queues.delete(queue);
      ballots.removeVoter(worker);
    },
    /** Does one pending step; returns false if there is none. */
    async step(queue?: string): Promise<boolean> {
      const waiting = [...queues.keys()].filter((name) => queues.get(name)?.length);
      const name = queue ?? waiting[pick(waiting.length)];
      void queues.get(name ?? "")?.shift()?.(); // it may wait for a further step
      for (let i = 0; i < 20; i++) await undefined;
      return name !== undefined;
    },
    async quiet(most = 10_000) {
      for (let steps = 0; await this.step(); steps++) assert.ok(steps < most, "it comes to an end");
    },
    actives: () => [...alive.values()].map(({ active }) => active),
    problems: () => [...alive.values()].map(({ problem }) => problem),
  };
}

test("a late vote for an older version does not block the newer one", async () => {
  const group = scene();
  for (const worker of [0, 1]) group.arrive(worker);
  group.save("v2");
  group.hint(0);
  await group.step("hint 0"); // has read v2
  group.save("v3");
  group.hint(1);
  for (const queue of ["hint 1", "work 1", "from 1"]) await group.step(queue); // v3 is voted on
  for (const queue of ["work 0", "from 0"]) await group.step(queue);
  await group.quiet();
  assert.equal(group.actives(), ["v3", "v3"]);
  assert.equal(group.problems(), [undefined, undefined]);
});

test("a worker that starts with the new version does not block the others from it", async () => {
  const group = scene();
  for (const worker of [0, 1, 2]) group.arrive(worker);
  group.save("v2");
  group.hint(0);
  for (const queue of ["hint 0", "work 0", "from 0"]) await group.step(queue);
  group.kill(1);
  group.arrive(1);
  await group.quiet();
  assert.equal(group.actives(), ["v2", "v2", "v2"]);
});

test("a refused version that is saved again is voted on again", async () => {
  const broken = new Set(["v2"]);
  const group = scene({ refuses: (worker, id) => worker === 0 && broken.has(id) });
  for (const worker of [0, 1, 2]) group.arrive(worker);
  group.save("v2");
  group.hint(0);
  await group.quiet();
  assert.equal(group.actives(), ["v1", "v1", "v1"]);
  assert.ok(
    group.problems().every((problem) => problem?.includes("no v2")),
    String(group.problems()),
  );
  group.save("v3");
  group.hint(2);
  await group.quiet();
  assert.equal(group.actives(), ["v3", "v3", "v3"]);
  broken.clear();
  group.save("v2");
  group.hint(1);
  await group.quiet();
  assert.equal(group.actives(), ["v2", "v2", "v2"]);
  assert.equal(group.problems(), [undefined, undefined, undefined]);
});

test("an overtaken vote differs from a refused one", async () => {
  const codes = async (vote: Partial<Vote>) => {
    const votes = createVotes(0, () => {});
    const decided = votes
      .cast("hooks.a", "v2")
      .catch(({ code }: { code?: string }) => code ?? "refused");
    votes.applyDecision({ subject: "hooks.a", id: "v2", ...vote });
    return decided;
  };
  assert.is(await codes({}), undefined);
  assert.is(await codes({ error: "no" }), "refused");
  const castVotes: Vote[] = [];
  const ballots = createBallots({
    voters: () => [0, 1],
    look() {},
    sendDecision: (_worker, vote) => castVotes.push(vote),
  });
  for (const [worker, id] of ["v2", "v3"].entries())
    ballots.cast(worker, { subject: "hooks.a", id });
  assert.is(await codes(castVotes[0]!), "conflict");
});

test("a vote of a worker during its scan counts as its response", async () => {
  const sent: Vote[] = [];
  const votes = createVotes(0, (vote) => sent.push(vote));
  votes.onLook(async () => {
    const decided = votes.cast("hooks.a", "v2");
    votes.applyDecision({ subject: "hooks.a", id: "v2", error: "another version has arrived" });
    const problem = await decided.catch((error: Error) => error.message);
    return { id: "v1", problem: problem as string };
  });
  await votes.lookFor({ subject: "hooks.a", id: "v2" });
  assert.equal(sent, [{ subject: "hooks.a", id: "v2", error: undefined }]);
});

test("two changes, of which each worker has noticed another, are both activated", async () => {
  const sentVotes: { worker: number; vote: Vote }[] = [];
  const ballots = createBallots({
    voters: () => [0, 1],
    look() {}, // who waits for a decision does not look
    sendDecision: (worker, vote) => sentVotes.push({ worker, vote }),
    deadlockMs: 5,
  });
  const cast = (worker: number, subject: string) => ballots.cast(worker, { subject, id: "v2" });
  cast(0, "hooks.a");
  cast(1, "hooks.b");
  await until("one of them to be given up", () => sentVotes.length > 0);
  assert.equal(
    sentVotes.splice(0).map(({ worker, vote }) => [worker, vote.subject, vote.error]),
    [[0, "hooks.a", "another change is applied first"]],
  );
  // it is free, and looks for both
  cast(0, "hooks.b");
  cast(0, "hooks.a");
  cast(1, "hooks.a");
  const summary = sentVotes
    .map(({ worker, vote }) => `${worker} ${vote.subject} ${vote.error}`)
    .sort();
  assert.equal(summary, [
    "0 hooks.a undefined",
    "0 hooks.b undefined",
    "1 hooks.a undefined",
    "1 hooks.b undefined",
  ]);
});

/** Some workers hear of what is saved, and one of them may die and come back. */
async function saveAmidTrouble(
  group: ReturnType<typeof scene>,
  pick: (count: number) => number,
): Promise<void> {
  group.save(`v${2 + pick(3)}`);
  for (const worker of [0, 1, 2, 3]) if (pick(3) > 0) group.hint(worker);
  for (let steps = pick(12); steps > 0; steps--) await group.step();
  if (pick(4) > 0) return;
  const worker = pick(4);
  group.kill(worker);
  for (let steps = pick(6); steps > 0; steps--) await group.step();
  group.arrive(worker);
}

test("in any order of events, all workers have the last save, even if only one noticed it", async () => {
  for (let seed = 1; seed <= 150; seed++) {
    let state = seed;
    const pick = (count: number) => {
      state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
      return Math.floor((state / 0x7fffffff) * count) % Math.max(1, count);
    };
    const group = scene({ pick });
    for (const worker of [0, 1, 2, 3]) group.arrive(worker);
    for (let save = 0; save < 4; save++) await saveAmidTrouble(group, pick);
    group.save("last");
    group.hint(pick(4));
    await group.quiet();
    assert.equal(group.actives(), ["last", "last", "last", "last"], `seed ${seed}`);
    assert.equal(group.problems(), [undefined, undefined, undefined, undefined], `seed ${seed}`);
  }
});

test.run();
