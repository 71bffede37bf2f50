/** What the test files of a process use one after another: started when one first asks, stopped after the last one. */
interface Shared {
  /** What it does at once is enough at the process's end. */
  stop(): Promise<void>;
  /** Files end when nothing keeps the process alive: from then on this does not. */
  unref(): void;
}

const started = new Map<string, Promise<Shared>>();
const running = new Set<Shared>();
// Where a file runs by itself.
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

/** Once no file comes after. */
export async function stopShared(): Promise<void> {
  const last = [...running];
  running.clear();
  await Promise.all(last.map((each) => each.stop()));
}
