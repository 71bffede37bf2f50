/** Credentials that expire: one request for all who wait, renewed before the old ones are over. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { createRenewed } from "portico/provider";

const test = suite("renewed");
const settled = () => new Promise(setImmediate);

function scene(life: number | undefined) {
  const state = { now: 1_000_000, asked: 0, fail: false };
  const get = createRenewed(
    async () => {
      state.asked++;
      await settled();
      if (state.fail) throw new Error("no token");
      return { value: state.asked, expiresAt: life === undefined ? undefined : state.now + life };
    },
    () => state.now,
  );
  return { state, get };
}

test("all waiting callers receive the same fetched value", async () => {
  const { state, get } = scene(3_600_000);
  assert.equal(await Promise.all([get(), get(), get()]), [1, 1, 1]);
  assert.equal([get(), state.asked], [1, 1]);
});

test("a value is renewed in the background before it expires, and awaited afterwards", async () => {
  const { state, get } = scene(3_600_000);
  await get();
  state.now += 3_600_000 - 4 * 60_000;
  assert.is(get(), 1);
  assert.is(get(), 1, "asked for once");
  await settled();
  await settled();
  assert.equal([get(), state.asked], [2, 2]);
  state.now += 3_600_000;
  const waited = get();
  assert.ok(waited instanceof Promise);
  assert.is(await waited, 3);
});

test("a failure affects only callers who need the value by then, and is retried after a while", async () => {
  const { state, get } = scene(3_600_000);
  await get();
  state.fail = true;
  state.now += 3_400_000;
  assert.is(get(), 1);
  await settled();
  await settled();
  assert.equal([get(), state.asked], [1, 2], "not with every request");
  state.now += 195_000;
  try {
    await get();
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, "no token");
  }
  state.fail = false;
  assert.is(await get(), 4);
});

test("short lifetimes are respected, and a value that never expires is kept", async () => {
  const short = scene(1000);
  await short.get();
  short.state.now += 400;
  assert.is(short.get(), 1);
  const forever = scene(undefined);
  await forever.get();
  forever.state.now += 1e12;
  assert.equal([forever.get(), forever.state.asked], [1, 1]);
});

test("the current caller fetches the value, not the first one", async () => {
  let now = 0;
  const fetch = async (by: { proxy: string }) => ({ value: by.proxy, expiresAt: now + 1000 });
  const get = createRenewed(fetch, () => now);
  assert.is(await get({ proxy: "old" }), "old");
  now = 2000;
  assert.is(await get({ proxy: "new" }), "new");
});

test.run();
