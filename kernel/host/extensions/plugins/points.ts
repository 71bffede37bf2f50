/** The contribution points, and the checks that every item must pass. */
import { errors } from "../errors.ts";
import { isTimerMs } from "../../../timing/deadline.ts";
import { didYouMean } from "../../../text/nearest.ts";
import type {
  ContributionPoint,
  ContributionSpec,
  Contributions,
  PluginDefinition,
} from "../../../contract/index.ts";

type Points = NonNullable<PluginDefinition["contributions"]>;

/** Matches empty or blank text, and text with characters that could manipulate a terminal or log. */
const INVISIBLE = /^\s*$|[\p{Cc}\p{Cf}\u2028\u2029]/u;

/** The contribution points of the kernel. */
const kernelPoints: Points = {
  tool: {
    fields: { name: "string", parameters: "object", handler: "function" },
    check({ name, parameters, timeoutMs = 1 }) {
      if (parameters["type"] !== "object") return "its parameters must be the schema of an object";
      if (!isTimerMs(timeoutMs))
        return "its timeoutMs must be a number of milliseconds from 1 to 2000000000";
      const fits = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name);
      return fits
        ? undefined
        : "its name must begin with a letter and have at most 64 letters, digits, - and _";
    },
  },
  authenticator: { fields: { name: "string", authenticate: "function" } },
  hookContext: { fields: { name: "string", create: "function" } },
  requestWatcher: { fields: { name: "string", ended: "function" } },
  changeWatcher: { fields: { name: "string", attempted: "function" } },
};

/** Collects the points that definitions declare, whether or not the plugins run, and checks items. */
export function createPoints(kernelEvents: ReadonlySet<string>) {
  let points: Points = kernelPoints;
  let enabledPlugins: readonly PluginDefinition[] = [];
  return {
    declare(definitions: readonly PluginDefinition[], isOn: (plugin: string) => boolean): void {
      points = Object.assign(
        {},
        ...definitions.map(({ contributions }) => contributions),
        kernelPoints,
      ) as Points;
      enabledPlugins = definitions.filter(({ name }) => isOn(name));
    },
    /**
     * Returns the event, or throws if it belongs to the gateway or to another enabled plugin. It belongs to the first
     * plugin that declares it.
     */
    ownEvent<K extends string>(event: K, plugin: string): K {
      const declares = ({ events = {} }: PluginDefinition): boolean => Object.hasOwn(events, event);
      const owner = kernelEvents.has(event)
        ? "the gateway"
        : (enabledPlugins.find(declares)?.name ?? plugin);
      if (owner === plugin) return event;
      throw errors.foreignEvent({ event, owner, plugin });
    },
    /** Throws for a point that no plugin declares, and for an item that the point does not accept. */
    check<K extends ContributionPoint>(point: K, item: Contributions[K]): void {
      const spec = points[point] as ContributionSpec<K> | undefined;
      const why = spec ? findFault(spec, item) : describeUnknownPoint(point, Object.keys(points));
      if (why) throw errors.unfitContribution({ point, why });
    },
  };
}
export type ContributionPoints = ReturnType<typeof createPoints>;

function describeUnknownPoint(point: string, knownPoints: readonly string[]): string {
  const suggestion = didYouMean(point, knownPoints);
  return `no plugin accepts contributions of that kind${suggestion ? `; did you mean ${suggestion}?` : ` (the kinds are ${knownPoints.join(", ")})`}`;
}

function findFault<K extends ContributionPoint>(
  spec: ContributionSpec<K>,
  item: Contributions[K],
): string | undefined {
  if (typeof item !== "object" || item === null) return "it must be an object";
  const members = item as unknown as Record<string, unknown>;
  for (const [field, kind] of Object.entries(spec.fields)) {
    const value = members[field];
    if (typeof value !== kind || value === null)
      return `its ${field} must be ${kind === "object" ? "an" : "a"} ${kind}`;
    if (kind === "string" && INVISIBLE.test(String(value)))
      return `its ${field} is empty, or contains invisible characters`;
  }
  return spec.check?.(item);
}
