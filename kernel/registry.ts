/** Services (one provider each, the latest wins) and contributions (many, in order of registration). */
import { PorticoError } from "./errors.ts";
import type { ContributionPoint, Contributions, Dispose, ServiceName, Services } from "./types.ts";

export function createServices() {
  const provided = new Map<string, unknown[]>();
  const waiting = new Set<() => void>();
  return {
    provide<K extends ServiceName>(name: K, service: Services[K]): Dispose {
      const stack = provided.get(name) ?? [];
      provided.set(name, stack);
      stack.push(service);
      for (const tell of [...waiting]) tell();
      return () => {
        const at = stack.indexOf(service);
        if (at >= 0) stack.splice(at, 1);
      };
    },
    find<K extends ServiceName>(name: K): Services[K] | undefined {
      return provided.get(name)?.at(-1) as Services[K] | undefined;
    },
    use<K extends ServiceName>(name: K): Services[K] {
      const service = this.find(name);
      if (service) return service;
      throw new PorticoError(
        "service_unavailable",
        `The ${name} service is not running: see \`portico plugins list\`.`,
      );
    },
    /** Called whenever a service is provided. */
    onProvide(tell: () => void): Dispose {
      waiting.add(tell);
      return () => void waiting.delete(tell);
    },
  };
}
export type ServiceRegistry = ReturnType<typeof createServices>;

export function createContributions() {
  const points = new Map<string, readonly unknown[]>();
  const watchers = new Map<string, Set<() => void>>();
  function change(point: string, items: readonly unknown[]): void {
    points.set(point, items);
    for (const changed of [...(watchers.get(point) ?? [])]) changed();
  }
  return {
    add<K extends ContributionPoint>(point: K, item: Contributions[K]): Dispose {
      change(point, [...(points.get(point) ?? []), item]);
      return () =>
        change(
          point,
          (points.get(point) ?? []).filter((other) => other !== item),
        );
    },
    list<K extends ContributionPoint>(point: K): readonly Contributions[K][] {
      return (points.get(point) ?? []) as readonly Contributions[K][];
    },
    watch(point: ContributionPoint, changed: () => void): Dispose {
      const set = watchers.get(point) ?? new Set();
      watchers.set(point, set);
      set.add(changed);
      return () => void set.delete(changed);
    },
  };
}
export type ContributionRegistry = ReturnType<typeof createContributions>;
