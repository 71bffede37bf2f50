/** Applies the policy of another gateway on top of this machine's own. It can only restrict, never permit. */
import { isDeepStrictEqual } from "node:util";
import { listConfiguredPorts } from "../drivers/debugging-ports.ts";
import { allowsPrivate, type BrowserConfig, type SandboxConfig } from "../schema.ts";
import type { ImposedPolicy } from "../types.ts";

/**
 * The effective policy on this machine: its own settings, and, if it is a node, those of the gateway that it acts for.
 */
interface Policy {
  config(): BrowserConfig;
  /** Returns the ports that no page may reach. */
  ownPorts(): number[];
  /** Returns further addresses at which these ports are, besides this machine. */
  ownAddresses(): readonly string[];
  /** Adopts the other gateway's policy. Returns true if it differs from the previous one. */
  adopt(policy: ImposedPolicy | undefined): boolean;
}

export function createPolicy(deps: {
  config(): BrowserConfig;
  sandbox(): SandboxConfig;
  /** Returns the ports of this gateway. */
  ports(): readonly number[];
}): Policy {
  const { config, sandbox, ports } = deps;
  let imposed: ImposedPolicy | undefined;
  return {
    config: () => narrowConfig(config(), imposed),
    ownPorts: () => [
      ...ports(),
      ...(imposed?.ports ?? []),
      ...listConfiguredPorts(config(), sandbox().browser.cdpUrl),
    ],
    ownAddresses: () => imposed?.addresses ?? [],
    adopt(policy) {
      if (policy === undefined || isDeepStrictEqual(policy, imposed)) return false;
      imposed = policy;
      return true;
    },
  };
}

/** Builds the policy from this gateway's settings, for a node that acts for it. */
export function createImposedPolicy(
  config: BrowserConfig,
  ports: readonly number[],
): ImposedPolicy {
  const { hostnameAllowlist, allowedHostnames } = config.ssrfPolicy;
  const { evaluateEnabled } = config;
  return {
    allowPrivate: allowsPrivate(config),
    hostnameAllowlist,
    allowedHostnames,
    evaluateEnabled,
    ports: [...ports],
  };
}

/** Matches no host. An empty overlap must not become an empty list, which would allow every host. */
const NO_HOST = "nothing.invalid";

/** Combines both policies, so that an address must satisfy each of them. */
export function narrowConfig(
  config: BrowserConfig,
  imposed: ImposedPolicy | undefined,
): BrowserConfig {
  if (imposed === undefined) return config;
  const isPrivateAllowed = allowsPrivate(config);
  const { ssrfPolicy } = config;
  return {
    ...config,
    evaluateEnabled: config.evaluateEnabled && imposed.evaluateEnabled,
    ssrfPolicy: {
      dangerouslyAllowPrivateNetwork: isPrivateAllowed && imposed.allowPrivate,
      hostnameAllowlist: intersectAllowlists(
        ssrfPolicy.hostnameAllowlist,
        imposed.hostnameAllowlist,
      ),
      allowedHostnames: [...intersectExemptions(config, imposed)],
    },
  };
}

/** Returns the names that both policies exempt. A policy that allows private addresses needs no exemptions. */
function intersectExemptions(config: BrowserConfig, imposed: ImposedPolicy): readonly string[] {
  const { allowedHostnames } = config.ssrfPolicy;
  const isPrivateAllowed = allowsPrivate(config);
  if (isPrivateAllowed && !imposed.allowPrivate) return imposed.allowedHostnames;
  if (!isPrivateAllowed && imposed.allowPrivate) return allowedHostnames;
  return intersectPatterns(allowedHostnames, imposed.allowedHostnames);
}

/** Intersects two allowlists. An empty allowlist restricts nothing. */
function intersectAllowlists(own: readonly string[], imposed: readonly string[]): string[] {
  if (own.length === 0 || imposed.length === 0) return [...own, ...imposed];
  const common = intersectPatterns(own, imposed);
  return common.length === 0 ? [NO_HOST] : common;
}

/** Returns patterns for the names that match a pattern of each list. */
function intersectPatterns(own: readonly string[], imposed: readonly string[]): string[] {
  const shared = own.flatMap((a) =>
    imposed.flatMap((b) => intersectPattern(normalizePattern(a), normalizePattern(b)) ?? []),
  );
  return [...new Set(shared)];
}

const normalizePattern = (pattern: string): string => pattern.trim().toLowerCase();

/** Intersects two patterns: `a.d` and `*.d` give `a.d`; `*.b.d` and `*.d` give `*.b.d`. */
function intersectPattern(a: string, b: string): string | undefined {
  if (a === b || b === "*") return a;
  if (a === "*") return b;
  if (b.startsWith("*.") && a.endsWith(b.slice(1))) return a;
  if (a.startsWith("*.") && b.endsWith(a.slice(1))) return b;
  return undefined;
}
