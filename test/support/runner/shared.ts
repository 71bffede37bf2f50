/** A resource that the test files of a process share: it is started at the first use, and stopped after the last file. */
interface Shared {
  /** Stops the resource. When the process exits, only the synchronous part runs, which must be enough. */
  stop(): Promise<void>;
  /** Stops the resource from keeping the process alive, since a file ends when nothing does. */
  unref(): void;
}

const started = new Map<string, Promise<Shared>>();
const running = new Set<Shared>();
// For a file that runs by itself.
process.on("exit", () => void stopShared());

export function shared<T extends Shared>(name: string, start: () => Promise<T>): Promise<T> {
  let found = started.get(name) as Promise<T> | undefined;
  if (!found) {
    found = start().then((made) => {
      running.add(made);
      made.unref();
      return made;
    });
    started.set(name, found);
  }
  return found;
}

/** Stops all shared resources, after the last file. */
export async function stopShared(): Promise<void> {
  const last = [...running];
  running.clear();
  await Promise.all(last.map((each) => each.stop()));
}
