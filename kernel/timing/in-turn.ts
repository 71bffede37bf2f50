/** Creates a queue: each job begins when the previous one has ended. A failed job does not stop the queue. */
export function createTurns(): <T>(job: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (job) => {
    const next = last.then(job);
    last = next.catch(() => {});
    return next;
  };
}
