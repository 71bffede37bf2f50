/** Ends endless scripts that block a page. */
import { attempt, withTimeout } from "../deadline.ts";
import type { CDPSession } from "../drivers/playwright.ts";
import { isTimeout } from "../failures.ts";

/** The time in ms after which an unresponsive page counts as blocked by an endless script. */
const BUSY_MS = 1_000;

/**
 * The maximum number of scripts to end: pending input, such as the second press of a double click, may start such a
 * script again.
 */
const MAX_SCRIPTS = 5;

/** Ends scripts that prevent the page from navigating. A responsive page is not affected. */
export async function endEndlessScripts(cdp: CDPSession): Promise<void> {
  for (let scripts = 0; scripts < MAX_SCRIPTS; scripts++) {
    const echo = cdp.send("Runtime.evaluate", { expression: "0" });
    if (!(await withTimeout(BUSY_MS, "", echo).then(() => false, isTimeout))) return;
    await attempt(BUSY_MS, cdp.send("Runtime.terminateExecution"), undefined);
    // If no script was running, this lets the termination end the echo and not the next page's first script.
    await attempt(BUSY_MS, echo, undefined);
  }
}
