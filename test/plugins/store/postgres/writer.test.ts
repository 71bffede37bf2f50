/** How long writes wait for a server that is not there. */
import * as assert from "uvu/assert";
import type { Client, Pool } from "../../../../plugins/store/postgres/connection.ts";
import { describeProblem } from "../../../../plugins/store/postgres/failures.ts";
import type { Notifications } from "../../../../plugins/store/postgres/notifications.ts";
import { Writer } from "../../../../plugins/store/postgres/writer.ts";
import { limitLock } from "../../../../plugins/store/sql/locks.ts";
import { test } from "../../../support/suite.ts";

test("a write that arrived while another waited for the server does not start its own wait after it", async () => {
  let attempts = 0;
  let second: Promise<unknown> | undefined;
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const write = () =>
    writer
      .write({ locks: [], run: () => assert.unreachable("it has no connection") as never })
      .then(
        () => "written",
        (error: unknown) => error,
      );
  const pool = {
    connect() {
      if (++attempts === 3) second = write();
      return Promise.reject(refused);
    },
  } as Partial<Pool> as Pool;
  const writer = new Writer({
    pool,
    notifications: {} as Notifications,
    clock: { record() {}, override: undefined },
    toUnavailable: (error) => error,
    onSuccess: () => assert.unreachable("nothing was written"),
  });
  assert.is(await write(), refused);
  const attemptsOfFirst = attempts;
  assert.is(await second, refused);
  assert.ok(
    attempts - attemptsOfFirst < attemptsOfFirst / 2,
    `${attemptsOfFirst}, then ${attempts}`,
  );
});

for (const code of ["40P01", "40001", "55P03"]) {
  test(`a write that another transaction was in the way of (${code}) is made again at once, as a whole`, async () => {
    const statements: string[] = [];
    let conflicts = 2;
    const client = {
      async query(query: string | { text: string }) {
        const text = typeof query === "string" ? query : query.text;
        statements.push(text);
        if (text.includes("pg_advisory_xact_lock") && conflicts-- > 0)
          throw Object.assign(new Error("in the way"), { code });
        const rows = [{ now: 1 }];
        return text.startsWith("BEGIN") ? [{ rows: [] }, { rows }] : { rows, rowCount: 1 };
      },
      on() {},
      release() {},
    } as unknown as Client;
    const writer = new Writer({
      pool: { connect: async () => client } as Partial<Pool> as Pool,
      notifications: {
        commitAndNotify: () => "COMMIT",
        wake() {},
      } as Partial<Notifications> as Notifications,
      clock: { record() {}, override: undefined },
      toUnavailable: (error) => error,
      onSuccess() {},
    });
    const write = (value: number) =>
      writer.write({
        locks: [limitLock(`k${value}`)],
        *run() {
          yield { sql: "SELECT 1", params: [] };
          return value;
        },
      });
    assert.equal(await Promise.all([write(1), write(2)]), [1, 2]);
    assert.is(statements.filter((text) => text === "ROLLBACK").length, 2);
    assert.is(statements.filter((text) => text === "COMMIT").length, 1, "both in one transaction");
    const error = Object.assign(new Error("in the way"), { code });
    assert.is(describeProblem(error), "other transactions blocked this one for too long");
  });
}

test.run();
