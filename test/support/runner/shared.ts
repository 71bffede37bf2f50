/** A resource that the test files of a process share: it is started at the first use, and stopped after the last file. */
interface SharedResource {
  /** Stops the resource. When the process exits, only the synchronous part runs, which must be enough. */
  stop(): Promise<void>;
  /** Stops the resource from keeping the process alive, since a file ends when nothing does. */
  unref(): void;
}

const started = new Map<string, Promise<SharedResource>>();
const running = new Set<SharedResource>();
// For a file that runs by itself.
process.on("exit", () => void stopShared());

export function shared<T extends SharedResource>(
  name: string,
  start: () => Promise<T>,
): Promise<T> {
  let resource = started.get(name) as Promise<T> | undefined;
  if (!resource) {
    resource = start().then((startedResource) => {
      running.add(startedResource);
      startedResource.unref();
      return startedResource;
    });
    started.set(name, resource);
  }
  return resource;
}

/** Stops all shared resources, after the last file. */
export async function stopShared(): Promise<void> {
  const resources = [...running];
  running.clear();
  await Promise.all(resources.map((resource) => resource.stop()));
}
