/** Work that is done again and again while a page is shown. */

/**
 * Runs `work` now and then again every `ms` until the signal aborts: one run at a time, and none while the tab is hidden.
 * A run that fails is reported to the browser's console and does not end the later ones.
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

/** Resolves after `ms`, or at once where the signal aborts. */
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
