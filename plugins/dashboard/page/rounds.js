/** Work that runs periodically while a page is shown. */

/**
 * Runs `work` at once, and again `ms` after the end of each run, until the signal aborts. It skips runs while the tab is
 * hidden. It reports a run that fails in the browser's console, and continues.
 */
export async function every(ms, signal, work) {
  while (!signal.aborted) {
    try {
      if (!document.hidden) await work();
    } catch (error) {
      if (!signal.aborted) reportError(error);
    }
    await pause(ms, signal);
  }
}

/** Resolves after `ms`, or as soon as the signal aborts. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, ms);
    function finish() {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    }
    signal.addEventListener("abort", finish);
    if (signal.aborted) finish();
  });
}
