/** Simultaneous calls share one result, and no caller receives a result from before its call. */
import * as assert from "uvu/assert";
import { coalesce } from "../../../plugins/management/routes/coalesce.ts";
import { startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";

test("callers of one turn of the event loop share one result, computed once all of them have arrived", async () => {
  let runs = 0;
  let state = "before";
  const ask = coalesce(async () => `${state} ${++runs}`);
  const first = ask();
  await Promise.resolve();
  const second = ask();
  state = "after";
  assert.equal(await Promise.all([first, second]), ["after 1", "after 1"]);
  assert.is(await ask(), "after 2");
});

test("a caller that arrives during a computation waits for the next one", async () => {
  const ends: (() => void)[] = [];
  let state = "before";
  let begun = (): void => {};
  const ask = coalesce(async () => {
    const current = state;
    begun();
    await new Promise<void>((resolve) => void ends.push(resolve));
    return current;
  });
  const isBegun = () =>
    new Promise<void>((resolve) => {
      begun = resolve;
    });
  const beginsOnce = isBegun();
  const first = ask();
  await beginsOnce;
  state = "after";
  const beginsAgain = isBegun();
  const second = ask();
  await beginsAgain;
  for (const end of ends) end();
  assert.equal(await Promise.all([first, second]), ["before", "after"]);
});

test("a failure affects the callers that share it, and not the next ones", async () => {
  let fails = true;
  const ask = coalesce(async () => {
    if (fails) throw new Error("it fails");
    return "well";
  });
  const results = await Promise.allSettled([ask(), ask()]);
  assert.equal(
    results.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  fails = false;
  assert.is(await ask(), "well");
});

test("a status reflects everything done before its request, regardless of the number of callers", async () => {
  const gateway = await startGateway();
  try {
    const status = () => gateway.json("GET", "/kernel/status");
    for (let n = 0; n < 5; n++) {
      const before = Promise.all([status(), status()]);
      const action = n % 2 === 0 ? "disable" : "enable";
      await gateway.json("POST", "/kernel/plugins/openapi/" + action);
      for (const { plugins } of await Promise.all([status(), status(), status()])) {
        const { state } = plugins.find(({ name }: { name: string }) => name === "openapi");
        assert.is(state, n % 2 === 0 ? "disabled" : "active");
      }
      await before;
    }
  } finally {
    await gateway.stop();
  }
});

test.run();
