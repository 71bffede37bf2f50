/** The masks of each channel, and the mask of all secrets of the gateway. */
import { SecretMask } from "./secret-mask.ts";

/** The learned tokens that are masked, per channel and in total. Older ones have mostly expired. */
const MAX_LEARNED = 8;
const MAX_RECENT = 64;

export interface Masks {
  /** The mask of the secrets that a channel's upstream receives and so may echo. */
  of(channel: { config: { provider: string } }): SecretMask;
  /** Adds secrets that were fetched for a channel and are not in the configuration, such as tokens. */
  learn(channel: { config: object }, secrets: readonly string[]): void;
  /** The mask of every known secret, for errors: another channel may lead to the same server. */
  all(): SecretMask;
}

export interface MasksOptions {
  /** Returns the secrets of the current configuration. */
  configured: () => readonly string[];
  /** Returns the secrets that a provider, or all providers, have from other sources. */
  provided: (provider?: string) => readonly string[];
}

export function createMasks({ configured, provided }: MasksOptions): Masks {
  const masks = new WeakMap<object, { others: string; mask: SecretMask }>();
  /** The newest secret is the last one. */
  const learned = new WeakMap<object, readonly string[]>();
  let recent: readonly string[] = [];
  let lastMask: { secrets: string; mask: SecretMask } | undefined;

  return {
    of({ config }) {
      const others = concat(provided(config.provider), learned.get(config) ?? NONE);
      const key = others.length === 0 ? "" : others.join("\n");
      let entry = masks.get(config);
      if (entry?.others !== key) {
        const texts = textsIn(config);
        const configuredHere = configured().filter((secret) =>
          texts.some((text) => text.includes(secret)),
        );
        const mask = new SecretMask(withCredentials([...configuredHere, ...others]));
        entry = { others: key, mask };
        masks.set(config, entry);
      }
      return entry!.mask;
    },
    learn({ config }, secrets) {
      const earlier = learned.get(config) ?? [];
      const fresh = secrets.filter((secret) => !earlier.includes(secret));
      if (fresh.length === 0) return;
      learned.set(config, [...earlier, ...fresh].slice(-MAX_LEARNED));
      recent = [...recent, ...fresh].slice(-MAX_RECENT);
    },
    all() {
      const secrets = withCredentials([...configured(), ...provided(), ...recent]);
      const key = secrets.join("\n");
      if (lastMask?.secrets !== key) lastMask = { secrets: key, mask: new SecretMask(secrets) };
      return lastMask.mask;
    },
  };
}

const NONE: readonly string[] = [];

/** Copies only if it must: it runs for each attempt, and the second list is mostly empty. */
function concat(first: readonly string[], second: readonly string[]): readonly string[] {
  return second.length === 0 ? first : [...first, ...second];
}

/** Adds the words after the first one as secrets: in `Bearer sk-…`, only the last word is secret. */
function withCredentials(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => [secret, ...secret.split(/\s+/).slice(1)]);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
