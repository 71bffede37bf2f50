/** The `deliveries` section of the configuration. */
import { type Static, timerMs, Type } from "portico";

const names = (description: string) => Type.Array(Type.String(), { default: [], description });

export const deliveriesSchema = Type.Object(
  {
    timeoutMs: timerMs({ default: 15_000, description: "How long a receiver may take." }),
    retryMs: Type.Array(timerMs({}), {
      minItems: 1,
      default: [1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000],
      description:
        "The pauses before the second attempt and those after it; the last one stands for all further.",
    }),
    allowPrivateNetwork: Type.Boolean({
      default: false,
      description: "Private addresses may be delivered to.",
    }),
    allowedHostnames: names("Names that may be private."),
    hostnameAllowlist: names("Where it is not empty, only these hosts are delivered to."),
  },
  { description: "Results that are posted to a URL." },
);

export type DeliveriesConfig = Static<typeof deliveriesSchema>;
