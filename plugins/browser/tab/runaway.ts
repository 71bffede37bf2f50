/** A page that is kept by a script of its own which has no end. */
import { attempt, within } from "../deadline.ts";
import type { CDPSession } from "../drivers/playwright.ts";
import { isTimeout } from "../failures.ts";

/** A page that says nothing for so long runs a script that has no end in sight. */
const BUSY_MS = 1_000;

/** Ends a script of the page that does not let it leave. A page that answers is let be. */
export async function endScript(cdp: CDPSession): Promise<void> {
  const echo = cdp.send("Runtime.evaluate", { expression: "0" });
  if (!(await within(BUSY_MS, "", echo).then(() => false, isTimeout))) return;
  await attempt(BUSY_MS, cdp.send("Runtime.terminateExecution"), undefined);
  // Where nothing ran after all, the echo is what ends, and not the next page's first script.
  await attempt(BUSY_MS, echo, undefined);
}
