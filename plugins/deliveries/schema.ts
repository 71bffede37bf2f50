/** The `deliveries` section of the configuration. */
import { type Static, timerMs, Type } from "portico";

const names = (description: string) => Type.Array(Type.String(), { default: [], description });

export const deliveriesSchema = Type.Object(
  {
    timeoutMs: timerMs({
      default: 15_000,
      description: "How long a receiver may take to respond, in milliseconds.",
    }),
    retryMs: Type.Array(timerMs({}), {
      minItems: 1,
      default: [1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000],
      description:
        "The pauses before the second, the third and further attempts, in milliseconds. The last pause is used for all attempts that follow.",
    }),
    allowPrivateNetwork: Type.Boolean({
      default: false,
      description: "Whether results may be delivered to private addresses.",
    }),
    allowedHostnames: names(
      "Host names that may resolve to private addresses even if the policy otherwise allows only public ones.",
    ),
    hostnameAllowlist: names("If this list is not empty, deliveries go only to these hosts."),
  },
  { description: "How the gateway posts the results of turns to URLs." },
);

export type DeliveriesConfig = Static<typeof deliveriesSchema>;
