/**
 * Collects writes until the end of the event loop's turn. A write to a sleeping process has to wake it, which costs
 * several times the write itself; of several consecutive writes only the first has to. In measurements this halves the
 * system time of a request.
 */
const MAX_WAITING = 64;

const pendingWrites: (() => void)[] = [];

/** Calls `write` before the next turn of the event loop. It must not throw. */
export function inBurst(write: () => void): void {
  const count = pendingWrites.push(write);
  if (count === 1) setImmediate(flush);
  else if (count >= MAX_WAITING) flush();
}

function flush(): void {
  for (const write of pendingWrites.splice(0)) write();
}
