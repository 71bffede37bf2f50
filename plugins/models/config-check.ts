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
    const circle = circleFrom(aliases, name);
    const path = ["models", name];
    if (circle) return [{ path, message: `leads back to itself: ${circle.join(" → ")}` }];
    return targetsOf(aliases[name]).flatMap(({ target, at }) => {
      return modelFault(subject, target, [...path, ...at]) ?? [];
    });
  });
}

interface AliasTarget {
  target: string;
  /** Where it stands in the alias. */
  at: (string | number)[];
}

function targetsOf(alias: unknown): AliasTarget[] {
  if (typeof alias === "string") return [{ target: alias, at: [] }];
  const { targets } = Object(alias) as { targets?: unknown };
  if (!Array.isArray(targets)) return [];
  return targets.flatMap((target, index) =>
    typeof target === "string" ? { target, at: ["targets", index] } : [],
  );
}

/** The way from an alias over others back to it; undefined where there is none. */
function circleFrom(aliases: Record<string, unknown>, start: string): string[] | undefined {
  const seen = new Set<string>();
  const visit = (name: string, way: readonly string[]): string[] | undefined => {
    for (const { target } of targetsOf(aliases[name])) {
      if (target === start) return [...way, target];
      if (!Object.hasOwn(aliases, target) || seen.has(target)) continue;
      seen.add(target);
      const circle = visit(target, [...way, target]);
      if (circle) return circle;
    }
    return undefined;
  };
  return visit(start, [start]);
}
