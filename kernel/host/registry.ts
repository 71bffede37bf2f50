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

/** Creates lists of registrations by name. `order` sorts each list; `onChange` is called after each change. */
export function createLists<T>(
  options: { order?: (items: T[]) => T[]; onChange?: (name: string) => void } = {},
) {
  const lists = new Map<string, readonly T[]>();
  /** Returns the same array until the list changes, and one constant array for all empty lists. */
  const of = (name: string): readonly T[] => lists.get(name) ?? empty;
  function set(name: string, items: T[]): void {
    if (items.length) lists.set(name, options.order?.(items) ?? items);
    else lists.delete(name);
    options.onChange?.(name);
  }
  return {
    of,
    add(name: string, item: T): Dispose {
      let isRegistered = true;
      set(name, [...of(name), item]);
      return () => {
        if (isRegistered) set(name, of(name).toSpliced(of(name).indexOf(item), 1));
        isRegistered = false;
      };
    },
  };
}

export function createServices() {
  const providers = createLists<unknown>();
  let onProvide = (): void => {};
  function find<K extends ServiceName>(name: K): Services[K] | undefined {
    return providers.of(name).at(-1) as Services[K] | undefined;
  }
  return {
    provide<K extends ServiceName>(name: K, service: Services[K]): Dispose {
      const undo = providers.add(name, service);
      onProvide();
      return undo;
    },
    find,
    use<K extends ServiceName>(name: K): Services[K] {
      const service = find(name);
      if (service) return service;
      throw errors.serviceMissing({ name });
    },
    /** Sets the function that is called whenever a service is provided. */
    onProvide(listener: () => void): void {
      onProvide = listener;
    },
  };
}
export type ServiceRegistry = ReturnType<typeof createServices>;

export function createContributions() {
  const watchers = createLists<() => void>();
  const points = createLists<unknown>({
    onChange: (point) => watchers.of(point).forEach((changed) => void changed()),
  });
  return {
    add: <K extends ContributionPoint>(point: K, item: Contributions[K]): Dispose =>
      points.add(point, item),
    list: <K extends ContributionPoint>(point: K) =>
      points.of(point) as readonly Contributions[K][],
    watch: (point: ContributionPoint, onChange: () => void): Dispose =>
      watchers.add(point, onChange),
  };
}
export type ContributionRegistry = ReturnType<typeof createContributions>;
