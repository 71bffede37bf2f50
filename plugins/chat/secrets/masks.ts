/** The masks of channels, and of all that the gateway's configuration keeps secret. */
import { SecretMask } from "./secret-mask.ts";

export interface Masks {
  /** What a channel's upstream is sent, and so may echo. */
  of(channel: { config: object }): SecretMask;
  /** Every secret of the configuration, for errors: another channel may lead to the same server. */
  all(): SecretMask;
}

/** `secrets`: those of the configuration, as they are now. */
export function createMasks(secrets: () => readonly string[]): Masks {
  const known = new WeakMap<object, SecretMask>();
  let last: { of: string; mask: SecretMask } | undefined;

  return {
    of({ config }) {
      let mask = known.get(config);
      if (mask === undefined) {
        const texts = textsIn(config);
        mask = new SecretMask(withoutScheme(secrets().filter((secret) => texts.some((text) => text.includes(secret)))));
        known.set(config, mask);
      }
      return mask;
    },
    all() {
      const now = withoutScheme(secrets());
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
