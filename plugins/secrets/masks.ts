/** The masks of channels, and of all that the gateway keeps secret. */
import { SecretMask } from "./secret-mask.ts";

/** Of a channel, and of all: a token is of no use for long. */
const MOST_LEARNED = 8;
const MOST_RECENT = 64;

export interface Masks {
  /** What a channel's upstream is sent, and so may echo. */
  of(channel: { config: { provider: string } }): SecretMask;
  /** What was fetched for a channel and is not in the configuration: tokens. */
  learn(channel: { config: object }, secrets: readonly string[]): void;
  /** Every secret that is known, for errors: another channel may lead to the same server. */
  all(): SecretMask;
}

export interface MasksOptions {
  /** Those of the configuration, as they are now. */
  configured: () => readonly string[];
  /** Those that providers have from elsewhere: of one by its name, or of all. */
  provided: (provider?: string) => readonly string[];
}

export function createMasks({ configured, provided }: MasksOptions): Masks {
  const known = new WeakMap<object, { own: string; mask: SecretMask }>();
  /** The latest last. */
  const learned = new WeakMap<object, readonly string[]>();
  let recent: readonly string[] = [];
  let last: { of: string; mask: SecretMask } | undefined;

  return {
    of({ config }) {
      const others = bothOf(provided(config.provider), learned.get(config) ?? NONE);
      const own = others.length === 0 ? "" : others.join("\n");
      let found = known.get(config);
      if (found?.own !== own) {
        const texts = textsIn(config);
        const configuredHere = configured().filter((secret) =>
          texts.some((text) => text.includes(secret)),
        );
        found = { own, mask: new SecretMask(withoutScheme([...configuredHere, ...others])) };
        known.set(config, found);
      }
      return found!.mask;
    },
    learn({ config }, secrets) {
      const own = learned.get(config) ?? [];
      const fresh = secrets.filter((secret) => !own.includes(secret));
      if (fresh.length === 0) return;
      learned.set(config, [...own, ...fresh].slice(-MOST_LEARNED));
      recent = [...recent, ...fresh].slice(-MOST_RECENT);
    },
    all() {
      const now = withoutScheme([...configured(), ...provided(), ...recent]);
      const of = now.join("\n");
      if (last?.of !== of) last = { of, mask: new SecretMask(now) };
      return last.mask;
    },
  };
}

const NONE: readonly string[] = [];

/** Runs for each attempt, and mostly one of them is empty. */
function bothOf(some: readonly string[], others: readonly string[]): readonly string[] {
  return others.length === 0 ? some : [...some, ...others];
}

/** `Bearer sk-…` is a secret because of its last word. */
function withoutScheme(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => [secret, ...secret.split(/\s+/).slice(1)]);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
