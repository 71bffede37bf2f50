/** The policy of a gateway elsewhere, on top of this machine's own: it may take away, never give. */
import { isDeepStrictEqual } from "node:util";
import { configuredPorts } from "../drivers/debugging-ports.ts";
import { allowsPrivate, type BrowserConfig, type SandboxConfig } from "../schema.ts";
import type { ImposedPolicy } from "../types.ts";

/** What holds on this machine: its own settings, and those of the gateway that it acts for, where it is a node. */
interface Policy {
  config(): BrowserConfig;
  /** Ports that no page may reach. */
  ownPorts(): number[];
  /** Where these ports are too, beside this machine. */
  ownAddresses(): readonly string[];
  /** Takes the other gateway's over; true where it is another one than before. */
  take(policy: ImposedPolicy | undefined): boolean;
}

export function createPolicy(deps: {
  config(): BrowserConfig;
  sandbox(): SandboxConfig;
  /** This gateway's. */
  ports(): readonly number[];
}): Policy {
  const { config, sandbox, ports } = deps;
  let imposed: ImposedPolicy | undefined;
  return {
    config: () => narrowConfig(config(), imposed),
    ownPorts: () => [
      ...ports(),
      ...(imposed?.ports ?? []),
      ...configuredPorts(config(), sandbox().browser.cdpUrl),
    ],
    ownAddresses: () => imposed?.addresses ?? [],
    take(policy) {
      if (policy === undefined || isDeepStrictEqual(policy, imposed)) return false;
      imposed = policy;
      return true;
    },
  };
}

/** What this gateway's settings say, for a node that acts for it. */
export function policyOf(config: BrowserConfig, ports: readonly number[]): ImposedPolicy {
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

/** A name that no pattern of the other list lets through is out, so an empty overlap must not read as "no list". */
const NOTHING = "nothing.invalid";

/** Both policies at once: an address must please each of them. */
export function narrowConfig(
  config: BrowserConfig,
  imposed: ImposedPolicy | undefined,
): BrowserConfig {
  if (imposed === undefined) return config;
  const own = allowsPrivate(config);
  const { ssrfPolicy } = config;
  return {
    ...config,
    evaluateEnabled: config.evaluateEnabled && imposed.evaluateEnabled,
    ssrfPolicy: {
      dangerouslyAllowPrivateNetwork: own && imposed.allowPrivate,
      hostnameAllowlist: both(ssrfPolicy.hostnameAllowlist, imposed.hostnameAllowlist),
      allowedHostnames: [...exempted(config, imposed)],
    },
  };
}

/** The names that both policies exempt; a policy that allows private addresses needs no exemptions. */
function exempted(config: BrowserConfig, imposed: ImposedPolicy): readonly string[] {
  const { allowedHostnames } = config.ssrfPolicy;
  const own = allowsPrivate(config);
  if (own && !imposed.allowPrivate) return imposed.allowedHostnames;
  if (!own && imposed.allowPrivate) return allowedHostnames;
  return overlap(allowedHostnames, imposed.allowedHostnames);
}

/** Where one of the lists is empty it restricts nothing. */
function both(own: readonly string[], other: readonly string[]): string[] {
  if (own.length === 0 || other.length === 0) return [...own, ...other];
  const common = overlap(own, other);
  return common.length === 0 ? [NOTHING] : common;
}

/** The names that match a pattern of each list, as patterns. */
function overlap(own: readonly string[], other: readonly string[]): string[] {
  const shared = own.flatMap((a) => other.flatMap((b) => meet(plain(a), plain(b)) ?? []));
  return [...new Set(shared)];
}

const plain = (pattern: string): string => pattern.trim().toLowerCase();

/** `a.d` and `*.d` meet in `a.d`; `*.b.d` and `*.d` in `*.b.d`. */
function meet(a: string, b: string): string | undefined {
  if (a === b || b === "*") return a;
  if (a === "*") return b;
  if (b.startsWith("*.") && a.endsWith(b.slice(1))) return a;
  if (a.startsWith("*.") && b.endsWith(a.slice(1))) return b;
  return undefined;
}
