/** The `usage` section of the configuration. */
import { type Static, timerMs, Type } from "portico";

const perMillion = (description: string) =>
  Type.Number({
    minimum: 0,
    maximum: 1e9,
    description: `${description}, in US dollars per million tokens.`,
  });

const Price = Type.Object({
  input: perMillion("Price of prompt tokens"),
  output: perMillion("Price of response tokens"),
  cachedInput: Type.Optional(
    perMillion(
      "Price of prompt tokens that were read from the provider's cache (default: as `input`)",
    ),
  ),
  cacheWrite: Type.Optional(
    perMillion(
      "Price of prompt tokens that were written to the provider's cache (default: as `input`)",
    ),
  ),
});

export const usageSchema = Type.Object(
  {
    flushMs: timerMs({
      minimum: 10,
      default: 1000,
      description:
        "The interval at which the gateway writes the counts to the store, in milliseconds.",
    }),
    prices: Type.Record(Type.String(), Price, {
      default: {},
      description:
        "Your own prices, by model or `channel/model`; `*` matches any text. They override the built-in prices.",
    }),
    requests: Type.Object(
      {
        keep: Type.Integer({
          minimum: 0,
          default: 100_000,
          description:
            "How many of the newest requests are stored individually, in addition to the sums; 0 stores none.",
        }),
      },
      { default: {} },
    ),
  },
  { description: "Tokens and costs of models." },
);

export type Price = Static<typeof Price>;
export type OwnPrices = Readonly<Record<string, Price>>;
