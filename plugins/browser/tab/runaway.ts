/** A page that is kept by a script of its own which has no end. */
import { attempt, within } from "../deadline.ts";
import type { CDPSession } from "../drivers/playwright.ts";
import { isTimeout } from "../failures.ts";

/** A page that says nothing for so long runs a script that has no end in sight. */
const BUSY_MS = 1_000;

/** Input that waits for a busy page, such as the second press of a double click, may start such a script again. */
const MOST_SCRIPTS = 5;

/** Ends scripts of the page that do not let it leave. A page that answers is left alone. */
export async function endScript(cdp: CDPSession): Promise<void> {
  for (let scripts = 0; scripts < MOST_SCRIPTS; scripts++) {
    const echo = cdp.send("Runtime.evaluate", { expression: "0" });
    if (!(await within(BUSY_MS, "", echo).then(() => false, isTimeout))) return;
    await attempt(BUSY_MS, cdp.send("Runtime.terminateExecution"), undefined);
    // Where nothing ran after all, the echo is what ends, and not the next page's first script.
    await attempt(BUSY_MS, echo, undefined);
  }
}
