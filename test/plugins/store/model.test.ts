/** Random histories, the same for the same seed, run against the store and against a model one can hold in the head. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import type { Claim, Store } from "../../../plugins/store/types.ts";
import { random, temporaryStore } from "./temporary-store.ts";

const LANES = ["a", "b", "c"];
const LEASE = 100;
const STEPS = 300;
const error = { code: "boom", message: "it failed" };

interface ModelItem {
  id: string;
  lane: string;
  state: "queued" | "running" | "done" | "dead" | "cancelled";
  attempts: number;
}
interface ModelLane {
  waiting: ModelItem[];
  /** In progress, or waiting for its retry. */
  head: ModelItem | undefined;
  /** Not to be claimed before this. */
  readyAt: number;
  /** Number of the claim that holds it. */
  holder: number;
}

class Model {
  items = new Map<string, ModelItem>();
  lanes = new Map<string, ModelLane>();
  claims = 0;

  lane(name: string): ModelLane {
    const known = this.lanes.get(name) ?? { waiting: [], head: undefined, readyAt: 0, holder: 0 };
    this.lanes.set(name, known);
    return known;
  }
  add(id: string, lane: string): void {
    const item: ModelItem = { id, lane, state: "queued", attempts: 0 };
    this.items.set(id, item);
    this.lane(lane).waiting.push(item);
  }
  /** Every lane that is ready hands out its head. */
  claim(now: number): Map<string, number> {
    const claimed = new Map<string, number>();
    for (const lane of this.lanes.values()) {
      if (lane.readyAt > now) continue;
      const item = lane.head ?? lane.waiting.shift();
      if (!item) continue;
      lane.head = item;
      lane.readyAt = now + LEASE;
      lane.holder = ++this.claims;
      item.state = "running";
      item.attempts++;
      claimed.set(item.id, lane.holder);
    }
    return claimed;
  }
  holds(claim: { item: string; number: number }): ModelLane | undefined {
    const lane = this.lane(this.items.get(claim.item)?.lane ?? "");
    return lane.head?.id === claim.item && lane.holder === claim.number ? lane : undefined;
  }
  finish(
    claim: { item: string; number: number },
    state: "done" | "dead" | "retry",
    at: number,
  ): boolean {
    const lane = this.holds(claim);
    if (!lane?.head) return false;
    lane.holder = -1;
    if (state === "retry") {
      lane.head.state = "queued";
      lane.readyAt = at;
      return true;
    }
    lane.head.state = state;
    lane.head = undefined;
    lane.readyAt = 0;
    return true;
  }
  cancel(id: string): boolean {
    const item = this.items.get(id);
    if (!item || (item.state !== "queued" && item.state !== "running")) return false;
    const lane = this.lane(item.lane);
    item.state = "cancelled";
    lane.waiting = lane.waiting.filter((other) => other !== item);
    if (lane.head === item) {
      lane.head = undefined;
      lane.readyAt = 0;
    }
    return true;
  }
}

/** The store and the model beside each other: each step does the same to both, and compares. */
function createHistory(seed: number) {
  const t = temporaryStore();
  const next = random(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const model = new Model();
  const ownClaims: { real: Claim; item: string; number: number }[] = [];
  let store: Store = t.store;
  let itemCount = 0;
  const log: string[] = [];

  async function add(): Promise<void> {
    const count = 1 + Math.floor(next() * 3);
    const items = Array.from({ length: count }, () => ({
      id: `i${itemCount++}`,
      lane: pick(LANES),
    }));
    log.push(`add ${items.map((item) => item.id + item.lane)}`);
    // several callers at once: their order among each other is the order of their calls
    await Promise.all(
      items.map((item) => store.enqueue({ items: [{ ...item, kind: "turn", body: 0 }] })),
    );
    for (const item of items) model.add(item.id, item.lane);
  }

  async function claim(stepNumber: number): Promise<void> {
    const expected = model.claim(t.clock.now);
    const claims = await store.claim(`w${stepNumber}`, 10, LEASE, ["turn"]);
    log.push(`claim ${claims.map(({ item }) => item.id)}`);
    assert.equal(claims.map(({ item }) => item.id).sort(), [...expected.keys()].sort());
    for (const real of claims) {
      ownClaims.push({ real, item: real.item.id, number: expected.get(real.item.id) as number });
      assert.is(real.item.attempts, model.items.get(real.item.id)?.attempts);
    }
  }

  async function finish(): Promise<void> {
    const target = pick(ownClaims);
    const state = pick(["done", "done", "retry", "dead"] as const);
    const at = t.clock.now + Math.floor(next() * 80);
    log.push(`${state} ${target.item}`);
    const outcome = {
      done: { state: "done" } as const,
      dead: { state: "dead", error } as const,
      retry: { state: "retry", at, error } as const,
    }[state];
    assert.is(await store.finish(target.real, outcome), model.finish(target, state, at));
  }

  async function extend(): Promise<void> {
    const target = pick(ownClaims);
    log.push(`extend ${target.item}`);
    const lane = model.holds(target);
    assert.is(await store.extend(target.real, LEASE), lane !== undefined);
    if (lane) lane.readyAt = t.clock.now + LEASE;
  }

  async function cancel(): Promise<void> {
    const id = `i${Math.floor(next() * itemCount)}`;
    log.push(`cancel ${id}`);
    assert.is(await store.items.cancel(id), model.cancel(id));
  }

  async function reopen(): Promise<void> {
    log.push("reopen");
    await store.close();
    store = t.another();
  }

  async function step(stepNumber: number): Promise<void> {
    const dice = next();
    if (dice < 0.3) return add();
    if (dice < 0.5) return claim(stepNumber);
    if (dice < 0.75 && ownClaims.length > 0) return finish();
    if (dice < 0.85 && ownClaims.length > 0) return extend();
    if (dice < 0.9 && itemCount > 0) return cancel();
    if (dice < 0.93) return reopen();
    t.clock.now += Math.floor(next() * 120);
    log.push(`clock ${t.clock.now}`);
  }

  async function compare(): Promise<void> {
    const all = (await store.items.list({ limit: 1000 })).reverse();
    assert.equal(
      all.map(({ id, state, attempts }) => [id, state, attempts]),
      Array.from(model.items.values(), ({ id, state, attempts }) => [id, state, attempts]),
    );
    assert.equal(await store.check(), []);
  }

  return { step, compare, lastSteps: () => log.slice(-12).join("; "), remove: () => t.remove() };
}

async function runHistory(seed: number): Promise<void> {
  const history = createHistory(seed);
  try {
    for (let step = 0; step < STEPS; step++) await history.step(step);
    await history.compare();
  } catch (failure) {
    console.log(`  seed ${seed}, the last steps: ${history.lastSteps()}`);
    throw failure;
  } finally {
    await history.remove();
  }
}

for (let seed = 1; seed <= 15; seed++)
  test(`the store does what the model does (seed ${seed})`, () => runHistory(seed));

test.run();
