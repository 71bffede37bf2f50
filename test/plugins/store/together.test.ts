/**
 * Calls of one moment share a transaction, and put their writes together in it. Nobody may see that: random calls made
 * at once answer and leave what the same calls do that wait for each other, in a file's store whichever engine is tested.
 */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import type { Claim, NewItem, Store } from "../../../plugins/store/types.ts";
import { isInFile, random, temporaryStore } from "./temporary-store.ts";

type Made = (store: Store, claims: readonly Claim[]) => Promise<unknown>;

const error = { code: "boom", message: "it failed" };
/** Over a server each call takes many times as long. */
const GROUPS = isInFile() ? 60 : 24;

interface Call {
  name: string;
  make: Made;
}
type Batch = Pick<Required<Parameters<Store["enqueue"]>[0]>, "items" | "deliveries">;

function calls(next: () => number): () => Call {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const number = (below: number) => Math.floor(next() * below);
  let itemCount = 0;

  function item(): NewItem {
    // now and then an id that is there already, mostly in another lane
    const id = next() < 0.15 && itemCount > 0 ? `i${number(itemCount)}` : `i${itemCount++}`;
    const lane = pick(["a", "b", "c"]);
    const newItem: NewItem = { id, lane, kind: pick(["turn", "wake"]), body: { n: itemCount } };
    if (next() < 0.2) newItem.runAt = 1_800_000_000_000 + number(5000);
    if (next() < 0.1) newItem.settle = { windowMs: 20, maxWaitMs: 100 };
    return newItem;
  }
  function enqueue(): Batch {
    const items = Array.from({ length: 1 + number(3) }, item);
    const deliveries = items.map(({ id }) => ({
      id: `d-${id}`,
      source: "test",
      outcome: "accepted",
      itemId: id,
    }));
    return { items, deliveries };
  }

  function limited(batch: Batch, key: string): Call {
    const limit = { key, max: key === "k1" ? 5 : 2000, windowMs: 300 };
    const dedup =
      next() < 0.4
        ? { dedup: { key: `x${number(30)}`, ttlMs: 500, answer: { made: itemCount } } }
        : {};
    return {
      name: `limited ${key}`,
      make: (store) => store.enqueue({ ...batch, ...dedup, limit }),
    };
  }
  function take(key: string): Call {
    const cost = number(3);
    return { name: `take ${key} ${cost}`, make: (store) => store.take(key, cost, 5, 300) };
  }
  function finish(batch: Batch): Call {
    const state = pick(["done", "dead", "retry", "paused"] as const);
    const at = 1_800_000_000_000 + number(5000);
    const outcome = {
      done: { state: "done" } as const,
      dead: { state: "dead", error } as const,
      retry: { state: "retry", at, error } as const,
      paused: { state: "paused", at, body: { made: itemCount } } as const,
    }[state];
    const n = number(4);
    const make: Made = async (store, claims) => {
      const claim = claims[n];
      return claim && store.finish(claim, outcome, batch);
    };
    return { name: `finish ${n} ${state}`, make };
  }
  function broken(batch: Batch, dice: number): Call {
    if (dice < 0.97) {
      const row = { ...item(), kind: null as unknown as string };
      return {
        name: "broken row",
        make: (store) => store.enqueue({ ...batch, items: [...batch.items, row] }),
      };
    }
    const circular = {
      ...item(),
      body: { toJSON: () => assert.unreachable("a body that cannot be written") },
    };
    return {
      name: "broken body",
      make: (store) => store.enqueue({ ...batch, items: [...batch.items, circular] }),
    };
  }
  /** A call for one item by its id, or for a lane. */
  function onItem(dice: number): Call {
    const id = `i${number(itemCount)}`;
    if (dice < 0.74) return { name: `wake ${id}`, make: (store) => store.items.wake(id) };
    if (dice < 0.76) return { name: `cancel ${id}`, make: (store) => store.items.cancel(id) };
    if (dice < 0.8) return { name: `replay ${id}`, make: (store) => store.items.replay(id) };
    const lane = pick(["a", "b"]);
    return { name: `drain ${lane}`, make: (store) => store.drain(lane, "wake", 3, id) };
  }

  return () => {
    const dice = next();
    const batch = enqueue();
    const key = pick(["k1", "k2", "k3"]);
    if (dice < 0.35) return limited(batch, key);
    if (dice < 0.5) return { name: "enqueue", make: (store) => store.enqueue(batch) };
    if (dice < 0.6) return take(key);
    if (dice < 0.7) return finish(batch);
    if (dice < 0.86) return onItem(dice);
    if (dice < 0.9) return { name: "kv", make: (store) => store.kv.set("n", key, itemCount) };
    if (dice < 0.93) return { name: "sweep", make: (store) => store.sweep() };
    return broken(batch, dice);
  };
}

/** A delivery stays as it was written: `isWhole` shows all, otherwise more than one group adds. */
async function readAll(store: Store, isWhole: boolean): Promise<unknown> {
  const newest = await store.deliveries.list({ limit: 5 });
  return {
    newest: await Promise.all(newest.map(({ id }) => store.deliveries.get(id))),
    items: (await store.items.list({ limit: 1000 })).map(({ seq: _, ...item }) => item),
    lanes: await store.items.lanes(1000),
    deliveries: (await store.deliveries.list({ limit: isWhole ? 1000 : 60 })).sort((a, b) =>
      a.id < b.id ? -1 : 1,
    ),
    due: await store.nextWorkAt(["turn", "wake"]),
    kv: await Promise.all(
      (await store.kv.list("n")).map(async (key) => [key, await store.kv.get("n", key)]),
    ),
  };
}

/** The calls of one moment are made at once, those of the next when all of them have settled. */
async function settleAll(
  moments: readonly (readonly Call[])[],
  store: Store,
  claims: readonly Claim[] = [],
): Promise<PromiseSettledResult<unknown>[]> {
  const results: PromiseSettledResult<unknown>[] = [];
  for (const moment of moments) {
    const promises = moment.map(({ make }) => make(store, claims));
    results.push(...(await Promise.allSettled(promises)));
  }
  return results;
}

async function compare(seed: number): Promise<void> {
  const together = temporaryStore();
  const oneByOne = temporaryStore({ isFile: true });
  const next = random(seed);
  const call = calls(next);
  const seeds: string[] = [];
  const both = [together, oneByOne];
  try {
    for (let n = 0; n < GROUPS; n++) {
      const claims = await Promise.all(
        both.map(({ store }) => store.claim(`w${n}`, 4, 100, ["turn", "wake"])),
      );
      assert.equal(plain(claims[0]), plain(claims[1]));
      const group = Array.from({ length: 1 + Math.floor(next() * 12) }, call).sort(byLimit);
      seeds.push(group.map(({ name }) => name).join(", "));
      const answers = await settleAll(momentsOf(group), together.store, claims[0]);
      const inTurn = group.map((call) => [call]);
      const expected = await settleAll(inTurn, oneByOne.store, claims[1]);
      for (const [i, result] of answers.entries()) {
        assert.equal(
          describeResult(result),
          describeResult(expected[i] as typeof result),
          group[i]?.name ?? "",
        );
      }
      // What is damaged stays so.
      const isWhole = (n + 1) % 12 === 0;
      assert.equal(await readAll(together.store, isWhole), await readAll(oneByOne.store, isWhole));
      if (isWhole) assert.equal(await together.store.check(), await oneByOne.store.check());
      const ms = Math.floor(next() * 60);
      for (const { clock } of both) clock.now += ms;
    }
  } catch (failure) {
    console.log(`  seed ${seed}, the last groups: ${seeds.slice(-3).join("; ")}`);
    throw failure;
  } finally {
    for (const store of both) await store.remove();
  }
}

function describeResult(result: PromiseSettledResult<unknown>): unknown {
  if (result.status === "fulfilled") return plain(result.value);
  const { code, message } = result.reason as { code?: string; message: string };
  // Of engines that differ each says in its own words what it refuses.
  return isInFile() ? message : (code ?? message);
}

const isLimited = ({ name }: { name: string }): boolean => /^(limited|take)/.test(name);
const byLimit = (a: { name: string }, b: { name: string }): number =>
  isInFile() ? 0 : Number(isLimited(b)) - Number(isLimited(a));

/** Over a server, calls that count against limits have transactions of their own, beside those of all other calls. */
function momentsOf<C extends { name: string }>(group: readonly C[]): (readonly C[])[] {
  if (isInFile()) return [group];
  return [group.filter(isLimited), group.filter((each) => !isLimited(each))];
}

/** Without the numbers of items: they go up by other steps where an id comes twice or a transaction was undone. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, value) => (key === "seq" ? undefined : value)),
  );
}

for (let seed = 1; seed <= 8; seed++)
  test(`calls of one moment (seed ${seed})`, () => compare(seed));

test.run();
