/** A browser that has ended silently: its pipe is still open, and no event has reported its exit. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import type { Attachment } from "../../../../plugins/browser/drivers/attach.ts";
import { libraryUnavailableError } from "../../../../plugins/browser/drivers/playwright.ts";
import { isRunning } from "../../../../plugins/browser/drivers/process-record.ts";
import { Session } from "../../../../plugins/browser/session/session.ts";
import { startUnreaped } from "../../../support/machine/unreaped.ts";
import { quietLog } from "../../../support/quiet-log.ts";
import { temporaryDir } from "../../../support/temporary.ts";

const test = suite("browser: a silent end of the process");

/** What starts browsers of these processes, one after another, none of which ever responds. */
function startsOf(pids: number[]) {
  const started: number[] = [];
  const silent = {
    async openBrowser() {
      return { send() {}, close() {} };
    },
  } as unknown as Attachment["clients"];
  const session = new Session({ name: "p", dir: temporaryDir(), driver: "managed" } as never, {
    async attach() {
      const pid = pids[started.length]!;
      started.push(pid);
      return {
        clients: silent,
        pid,
        headers: {},
        egress: "enforced",
        async release() {},
      } as unknown as Attachment;
    },
    library: () => Promise.reject(libraryUnavailableError()),
    isStrict: () => false,
    maxTabs: () => 1,
    onNavigated() {},
    guard: undefined as never,
    log: quietLog(),
  });
  return { session, started };
}

test("an ended browser is started again, and a hanging one is not", async () => {
  // As while threads of it are on their way out.
  const ended = await startUnreaped();
  await ended.kill();
  assert.not(await isRunning(ended.pid));
  try {
    const { session, started } = startsOf([ended.pid, process.pid]);
    for (let i = 0; i < 3; i++) await session.start();
    assert.equal(started, [ended.pid, process.pid]);
    await session.stop();
  } finally {
    ended.release();
  }
});

test.run();
