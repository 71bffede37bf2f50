/** Work that is done again and again while a view is shown. */

/**
 * Now and then again until the signal ends, not beside itself, and not while nobody can see it. A round that fails is
 * told to the console and does not end those after it.
 */
export async function every(ms, signal, work) {
  while (!signal.aborted) {
    try {
      if (!document.hidden) await work();
    } catch (error) {
      if (!signal.aborted) reportError(error);
    }
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}
