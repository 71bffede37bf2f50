/** The masks of channels, and of all that the gateway keeps secret. */
import { SecretMask } from "./secret-mask.ts";

export interface Masks {
  /** What a channel's upstream is sent, and so may echo. */
  of(channel: { config: { provider: string } }): SecretMask;
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
  let last: { of: string; mask: SecretMask } | undefined;

  return {
    of({ config }) {
      const others = provided(config.provider);
      const own = others.length === 0 ? "" : others.join("\n");
      let found = known.get(config);
      if (found?.own !== own) {
        const texts = textsIn(config);
        const given = configured().filter((secret) => texts.some((text) => text.includes(secret)));
        found = { own, mask: new SecretMask(withoutScheme([...given, ...others])) };
        known.set(config, found);
      }
      return found!.mask;
    },
    all() {
      const now = withoutScheme([...configured(), ...provided()]);
      const of = now.join("\n");
      if (last?.of !== of) last = { of, mask: new SecretMask(now) };
      return last.mask;
    },
  };
}

/** `Bearer sk-…` is a secret because of its last word. */
function withoutScheme(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => [secret, ...secret.split(/\s+/).slice(1)]);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
