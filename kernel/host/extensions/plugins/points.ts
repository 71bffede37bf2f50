/** What plugins may contribute, and what an item must be: looked at before anything of it counts. */
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

/** Nothing, or white space alone; or a character that does something to the terminal or log where it is shown. */
const UNSEEN = /^\s*$|[\p{Cc}\p{Cf}\u2028\u2029]/u;

/** The kernel's own. */
const kernelPoints: Points = {
  tool: {
    fields: { name: "string", parameters: "object", handler: "function" },
    check({ name, parameters, timeoutMs = 1 }) {
      if (parameters["type"] !== "object") return "its parameters must be the schema of an object";
      if (!isTimerMs(timeoutMs))
        return "its timeoutMs must be a number of milliseconds from 1 to 2000000000";
      const fits = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name);
      return fits ? undefined : "its name must be letters, digits, - and _, at most 64";
    },
  },
  authenticator: { fields: { name: "string", authenticate: "function" } },
  hookContext: { fields: { name: "string", create: "function" } },
  requestWatcher: { fields: { name: "string", ended: "function" } },
  changeWatcher: { fields: { name: "string", attempted: "function" } },
};

/** The points that the definitions declare, running or not, and how to tell what is wrong with an item. */
export function createPoints(kernelEvents: ReadonlySet<string>) {
  let points: Points = kernelPoints;
  let on: readonly PluginDefinition[] = [];
  return {
    declare(definitions: readonly PluginDefinition[], isOn: (plugin: string) => boolean): void {
      points = Object.assign(
        {},
        ...definitions.map(({ contributions }) => contributions),
        kernelPoints,
      ) as Points;
      on = definitions.filter(({ name }) => isOn(name));
    },
    /** Throws for an event of the gateway's, or of another plugin that is on: the first that declares it has it. */
    ownEvent<K extends string>(event: K, plugin: string): K {
      const declares = ({ events = {} }: PluginDefinition): boolean => Object.hasOwn(events, event);
      const owner = kernelEvents.has(event) ? "the gateway" : (on.find(declares)?.name ?? plugin);
      if (owner === plugin) return event;
      throw errors.foreignEvent({ event, owner, plugin });
    },
    /** Throws for a point that no plugin declares, and for an item that the point does not accept. */
    check<K extends ContributionPoint>(point: K, item: Contributions[K]): void {
      const spec = points[point] as ContributionSpec<K> | undefined;
      const why = spec ? whyUnfit(spec, item) : unknownPoint(point, Object.keys(points));
      if (why) throw errors.unfitContribution({ point, why });
    },
  };
}
export type ContributionPoints = ReturnType<typeof createPoints>;

function unknownPoint(point: string, known: readonly string[]): string {
  const near = didYouMean(point, known);
  return `no plugin accepts contributions of that kind${near ? `; did you mean ${near}?` : ` (the kinds are ${known.join(", ")})`}`;
}

function whyUnfit<K extends ContributionPoint>(
  spec: ContributionSpec<K>,
  item: Contributions[K],
): string | undefined {
  if (typeof item !== "object" || item === null) return "it must be an object";
  const members = item as unknown as Record<string, unknown>;
  for (const [field, kind] of Object.entries(spec.fields)) {
    const value = members[field];
    if (typeof value !== kind || value === null)
      return `its ${field} must be ${kind === "object" ? "an" : "a"} ${kind}`;
    if (kind === "string" && UNSEEN.test(String(value)))
      return `its ${field} is empty, or contains invisible characters`;
  }
  return spec.check?.(item);
}
