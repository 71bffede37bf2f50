/** Services (one provider each, the latest wins) and contributions (many, in order of registration). */
import { errors } from "./errors.ts";
import type {
  ContributionPoint,
  Contributions,
  Dispose,
  ServiceName,
  Services,
} from "../contract/index.ts";

const empty: readonly [] = [];

/** Lists of what is registered, by name. `order` sorts each; `changed` is called after each change. */
export function createLists<T>(
  how: { order?: (items: T[]) => T[]; changed?: (name: string) => void } = {},
) {
  const lists = new Map<string, readonly T[]>();
  /** The same list until it changes; for nothing always the same. */
  const of = (name: string): readonly T[] => lists.get(name) ?? empty;
  function set(name: string, items: T[]): void {
    if (items.length) lists.set(name, how.order?.(items) ?? items);
    else lists.delete(name);
    how.changed?.(name);
  }
  return {
    of,
    add(name: string, item: T): Dispose {
      let isThere = true;
      set(name, [...of(name), item]);
      return () => {
        if (isThere) set(name, of(name).toSpliced(of(name).indexOf(item), 1));
        isThere = false;
      };
    },
  };
}

export function createServices() {
  const provided = createLists<unknown>();
  let onProvide = (): void => {};
  function find<K extends ServiceName>(name: K): Services[K] | undefined {
    return provided.of(name).at(-1) as Services[K] | undefined;
  }
  return {
    provide<K extends ServiceName>(name: K, service: Services[K]): Dispose {
      const undo = provided.add(name, service);
      onProvide();
      return undo;
    },
    find,
    use<K extends ServiceName>(name: K): Services[K] {
      const service = find(name);
      if (service) return service;
      throw errors.serviceMissing({ name });
    },
    /** From now on this is called whenever a service is provided. */
    onProvide(listener: () => void): void {
      onProvide = listener;
    },
  };
}
export type ServiceRegistry = ReturnType<typeof createServices>;

export function createContributions() {
  const watchers = createLists<() => void>();
  const points = createLists<unknown>({
    changed: (point) => watchers.of(point).forEach((changed) => void changed()),
  });
  return {
    add: <K extends ContributionPoint>(point: K, item: Contributions[K]): Dispose =>
      points.add(point, item),
    list: <K extends ContributionPoint>(point: K) =>
      points.of(point) as readonly Contributions[K][],
    watch: (point: ContributionPoint, changed: () => void): Dispose => watchers.add(point, changed),
  };
}
export type ContributionRegistry = ReturnType<typeof createContributions>;
