/** The ledger beside a store that fails, and what a key has spent meanwhile. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { ChatRecord, Logger, Store, UsageRecord } from "../../../kernel/index.ts";
import { Ledger } from "../../../plugins/usage/ledger.ts";
import { temporaryStore } from "../../kernel/store/temporary-store.ts";

const test = suite("the usage ledger");

function set(
  work: (parts: {
    ledger: Ledger;
    store: Store;
    lines: string[];
    fail(on: boolean): void;
    turn(ms: number): void;
  }) => Promise<void>,
) {
  return async () => {
    const temporary = temporaryStore();
    const lines: string[] = [];
    let failing = false;
    const { store } = temporary;
    const usage = {
      ...store.usage,
      append: (records: readonly UsageRecord[]) =>
        failing ? Promise.reject(new Error("disk full")) : store.usage.append(records),
    };
    const log = new Proxy(
      {},
      {
        get:
          () =>
          (...args: unknown[]) =>
            lines.push(String(args.at(-1))),
      },
    ) as Logger;
    const ledger = new Ledger({
      store: () => ({ ...store, now: () => temporary.clock.now, usage }) as Store,
      log,
      prices: { m: { input: 1, output: 0 } },
    });
    try {
      await work({
        ledger,
        store,
        lines,
        fail: (on) => (failing = on),
        turn: (ms) => (temporary.clock.now += ms),
      });
    } finally {
      await temporary.remove();
    }
  };
}

const record = (tokens: number, key?: string): ChatRecord => ({
  requestId: "r",
  client: key === undefined ? { kind: "owner" } : { kind: "key", key },
  channel: "c",
  provider: "openai",
  model: "m",
  status: 200,
  usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
  ms: 1,
  firstByteMs: 1,
  attempts: 1,
  stream: false,
  composite: false,
});

test(
  "keeps what the store does not take, says so once, and writes it later",
  set(async ({ ledger, store, lines, fail }) => {
    fail(true);
    ledger.add(record(1));
    await ledger.flush();
    ledger.add(record(2));
    await ledger.flush();
    assert.is(lines.length, 1);
    assert.match(lines[0]!, /kept and tried again/);
    fail(false);
    await ledger.flush();
    const [sum] = await store.usage.sum();
    assert.equal([sum?.requests, sum?.promptTokens], [2, 3]);
    assert.match(lines[1]!, /written again/);
    await ledger.flush();
    assert.is((await store.usage.sum())[0]?.requests, 2, "nothing is written twice");
  }),
);

test(
  "knows what a key has spent, whether or not it is written",
  set(async ({ ledger, store, fail, turn }) => {
    const since = 1_800_000_000_000 - (1_800_000_000_000 % 86_400_000);
    await store.usage.append([
      { key: "k", cost: 1, at: since },
      { key: "k", cost: 5, at: since - 1 },
    ]);
    fail(true);
    ledger.add(record(2_000_000, "k"));
    ledger.add(record(9_000_000));
    await ledger.flush();
    assert.is(await ledger.spent("k", since), 3);
    ledger.add(record(1_000_000, "k"));
    assert.is(await ledger.spent("k", since), 4);
    fail(false);
    await ledger.flush();
    assert.is(await ledger.spent("k", since), 4);
    await store.usage.append([{ key: "k", cost: 10 }]);
    turn(6_000);
    assert.is(await ledger.spent("k", since), 14, "what another gateway wrote is seen in time");
    assert.is(await ledger.spent("nobody", since), 0);
  }),
);

test(
  "many requests of one minute become one row",
  set(async ({ ledger, store }) => {
    for (let i = 0; i < 5000; i++) ledger.add(record(1));
    await ledger.flush();
    const rows = await store.usage.sum({ by: ["minute", "model"] });
    assert.equal(
      rows.map(({ requests }) => requests),
      [5000],
    );
  }),
);

test.run();
