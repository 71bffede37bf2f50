/** Checks what schemas of channels and aliases cannot express: references to providers, channels, models and aliases. */
import { type ConfigCheck, type ConfigCheckSubject, type ConfigFault, didYouMean } from "portico";
import { modelFault, recordAt } from "./judging/known-models.ts";

const check: ConfigCheck = (subject) => [...providerFaults(subject), ...aliasFaults(subject)];
export default check;

function providerFaults({ config, names }: ConfigCheckSubject): ConfigFault[] {
  const providers = names("provider");
  if (providers === undefined) return [];
  const channels = recordAt<{ provider?: unknown }>(config, "channels");
  return Object.entries(channels).flatMap(([name, { provider }]) => {
    if (typeof provider !== "string" || providers.includes(provider)) return [];
    return {
      path: ["channels", name, "provider"],
      message: `names the provider ${JSON.stringify(provider)}, which does not exist`,
      nearest: didYouMean(provider, providers),
    };
  });
}

function aliasFaults(subject: ConfigCheckSubject): ConfigFault[] {
  const aliases = recordAt(subject.config, "models");
  return Object.keys(aliases).flatMap((name) => {
    const cycle = findCycle(aliases, name);
    const path = ["models", name];
    if (cycle)
      return [{ path, message: `is an alias that leads back to itself: ${cycle.join(" → ")}` }];
    return targetsOf(aliases[name]).flatMap(({ target, relativePath }) => {
      return modelFault(subject, target, [...path, ...relativePath]) ?? [];
    });
  });
}

interface AliasTarget {
  target: string;
  /** The path of the target inside the alias. */
  relativePath: (string | number)[];
}

function targetsOf(alias: unknown): AliasTarget[] {
  if (typeof alias === "string") return [{ target: alias, relativePath: [] }];
  const { targets } = Object(alias) as { targets?: unknown };
  if (!Array.isArray(targets)) return [];
  return targets.flatMap((target, index) =>
    typeof target === "string" ? { target, relativePath: ["targets", index] } : [],
  );
}

/** Returns the cycle from an alias over others back to itself; undefined if there is none. */
function findCycle(aliases: Record<string, unknown>, start: string): string[] | undefined {
  const visited = new Set<string>();
  const visit = (name: string, trail: readonly string[]): string[] | undefined => {
    for (const { target } of targetsOf(aliases[name])) {
      if (target === start) return [...trail, target];
      if (!Object.hasOwn(aliases, target) || visited.has(target)) continue;
      visited.add(target);
      const cycle = visit(target, [...trail, target]);
      if (cycle) return cycle;
    }
    return undefined;
  };
  return visit(start, [start]);
}
