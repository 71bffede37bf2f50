/** Signals of a process that serves: the first stops it in order, a later one at once. */

const ECHO_MS = 250;
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

interface Serving {
  /** Resolves with the exit code, or with nothing for 0. */
  stop(reason: string): Promise<unknown>;
  rescan(): void;
  /** Last, before the process ends at once. */
  cut?(): void;
}

/**
 * Resolves with the exit code. npm, shells and `timeout` pass one signal on a second time: what comes within a quarter of
 * a second of the first, or was waiting beside it while this process was busy, is the same.
 */
export function handleSignals(serving: () => Serving | undefined): Promise<number> {
  return new Promise((resolve) => {
    let isStopping = false;
    let isEchoOver = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        const one = serving();
        if (isStopping) {
          if (!isEchoOver) return;
          one?.cut?.();
          process.exit(exitCodes[signal]);
        }
        isStopping = true;
        // after the signals that wait already: they are handled before any "immediate"
        setTimeout(() => setImmediate(() => (isEchoOver = true)), ECHO_MS).unref();
        if (!one) process.exit(0); // it has not begun to serve: there is nothing to wait for
        one.stop(signal).then(
          (code) => resolve(typeof code === "number" ? code : 0),
          () => resolve(1),
        );
      });
    }
    process.on("SIGHUP", () => serving()?.rescan());
  });
}
