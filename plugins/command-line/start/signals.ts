/** Signals of a process that serves: the first stops it in order, a later one at once. */

const ECHO_MS = 1000;
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

interface Serving {
  /** Resolves with the exit code, or with nothing for 0. */
  stop(reason: string): Promise<unknown>;
  rescan(): void;
  /** Last, before the process ends at once. */
  cut?(): void;
}

/**
 * Resolves with the exit code. npm and shells pass one Ctrl-C on a second time: what comes within a second of the first is
 * the same.
 */
export function handleSignals(serving: () => Serving | undefined): Promise<number> {
  return new Promise((resolve) => {
    let stoppingSince: number | undefined;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        const now = performance.now();
        const one = serving();
        if (stoppingSince !== undefined) {
          if (now - stoppingSince <= ECHO_MS) return;
          one?.cut?.();
          process.exit(exitCodes[signal]);
        }
        stoppingSince = now;
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
