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

async function history(seed: number): Promise<void> {
  const t = temporaryStore();
  const next = random(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const model = new Model();
  const held: { real: Claim; item: string; number: number }[] = [];
  let store: Store = t.store;
  let made = 0;
  const said: string[] = [];
  try {
    for (let step = 0; step < STEPS; step++) {
      const dice = next();
      if (dice < 0.3) {
        const count = 1 + Math.floor(next() * 3);
        const added = Array.from({ length: count }, () => ({
          id: `i${made++}`,
          lane: pick(LANES),
        }));
        said.push(`add ${added.map((item) => item.id + item.lane)}`);
        // several callers at once: their order among each other is the order of their calls
        await Promise.all(
          added.map((item) => store.enqueue({ items: [{ ...item, kind: "turn", body: 0 }] })),
        );
        for (const item of added) model.add(item.id, item.lane);
      } else if (dice < 0.5) {
        const expected = model.claim(t.clock.now);
        const claims = await store.claim(`w${step}`, 10, LEASE, ["turn"]);
        said.push(`claim ${claims.map((claim) => claim.item.id)}`);
        assert.equal(claims.map((claim) => claim.item.id).sort(), [...expected.keys()].sort());
        for (const real of claims) {
          held.push({ real, item: real.item.id, number: expected.get(real.item.id) as number });
          assert.is(real.item.attempts, model.items.get(real.item.id)?.attempts);
        }
      } else if (dice < 0.75 && held.length > 0) {
        const claim = pick(held);
        const state = pick(["done", "done", "retry", "dead"] as const);
        const at = t.clock.now + Math.floor(next() * 80);
        said.push(`${state} ${claim.item}`);
        const outcome =
          state === "done" ? { state } : state === "dead" ? { state, error } : { state, at, error };
        assert.is(await store.finish(claim.real, outcome), model.finish(claim, state, at));
      } else if (dice < 0.85 && held.length > 0) {
        const claim = pick(held);
        said.push(`extend ${claim.item}`);
        const lane = model.holds(claim);
        assert.is(await store.extend(claim.real, LEASE), lane !== undefined);
        if (lane) lane.readyAt = t.clock.now + LEASE;
      } else if (dice < 0.9 && made > 0) {
        const id = `i${Math.floor(next() * made)}`;
        said.push(`cancel ${id}`);
        assert.is(await store.items.cancel(id), model.cancel(id));
      } else if (dice < 0.93) {
        said.push("reopen");
        await store.close();
        store = t.another();
      } else {
        t.clock.now += Math.floor(next() * 120);
        said.push(`clock ${t.clock.now}`);
      }
    }
    const all = (await store.items.list({ limit: 1000 })).reverse();
    assert.equal(
      all.map(({ id, state, attempts }) => [id, state, attempts]),
      Array.from(model.items.values(), ({ id, state, attempts }) => [id, state, attempts]),
    );
    assert.equal(await store.check(), []);
  } catch (failure) {
    console.log(`  seed ${seed}, the last steps: ${said.slice(-12).join("; ")}`);
    throw failure;
  } finally {
    await t.remove();
  }
}

for (let seed = 1; seed <= 15; seed++)
  test(`the store does what the model does (seed ${seed})`, () => history(seed));

test.run();
