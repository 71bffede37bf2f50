/** Handles signals of a serving process: the first one stops it gracefully, a later one at once. */

const ECHO_MS = 250;
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

interface ServingProcess {
  /** Stops gracefully. Resolves with the exit code; any other value counts as 0. */
  stop(reason: string): Promise<unknown>;
  rescan(): void;
  /** Called just before the process exits at once. */
  beforeExit?(): void;
}

/**
 * Resolves with the exit code. npm, shells and `timeout` forward a signal that the process also receives itself. So a
 * signal within `ECHO_MS` of the first one, or queued with it while this process was busy, counts as a repetition.
 */
export function handleSignals(serving: () => ServingProcess | undefined): Promise<number> {
  return new Promise((resolve) => {
    let isStopping = false;
    let acceptsSecondSignal = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        const current = serving();
        if (isStopping) {
          if (!acceptsSecondSignal) return;
          current?.beforeExit?.();
          process.exit(exitCodes[signal]);
        }
        isStopping = true;
        // setImmediate runs after the handlers of signals that are already queued
        setTimeout(() => setImmediate(() => (acceptsSecondSignal = true)), ECHO_MS).unref();
        if (!current) process.exit(0); // it is not serving yet, so there is nothing to wait for
        current.stop(signal).then(
          (code) => resolve(typeof code === "number" ? code : 0),
          () => resolve(1),
        );
      });
    }
    process.on("SIGHUP", () => serving()?.rescan());
  });
}
