/** How long writes wait for a server that is not there. */
import * as assert from "uvu/assert";
import type { Pool } from "../../../../plugins/store/postgres/connection.ts";
import type { Notifications } from "../../../../plugins/store/postgres/notifications.ts";
import { Writer } from "../../../../plugins/store/postgres/writer.ts";
import { test } from "../../../support/suite.ts";

test("a write that came while another one waited for the server does not begin to wait anew after it", async () => {
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
    clock: { note() {}, own: undefined },
    unavailable: (error) => error,
    succeeded: () => assert.unreachable("nothing was written"),
  });
  assert.is(await write(), refused);
  const attemptsOfFirst = attempts;
  assert.is(await second, refused);
  assert.ok(
    attempts - attemptsOfFirst < attemptsOfFirst / 2,
    `${attemptsOfFirst}, then ${attempts}`,
  );
});

test.run();
