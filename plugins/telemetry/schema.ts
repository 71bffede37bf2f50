/** The `telemetry` section of the configuration. */
import { type Static, timerMs, Type } from "portico";

export const telemetrySchema = Type.Object(
  {
    otlp: Type.Optional(
      Type.String({
        pattern: "^https?://[^@\\s/][^@\\s]*$",
        format: "uri",
        expected: "an http or https address without user and password",
        description:
          "A collector that accepts OTLP over HTTP, such as http://127.0.0.1:4318. Without a collector, the gateway records no traces.",
      }),
    ),
    headers: Type.Record(Type.String(), Type.String({ minLength: 1, secret: true }), {
      default: {},
      description: "Headers that the collector requires, such as its key.",
    }),
    serviceName: Type.String({
      default: "portico",
      minLength: 1,
      description: "The name of this gateway in traces.",
    }),
    flushMs: timerMs({
      minimum: 10,
      default: 2000,
      description: "The interval at which spans are sent, in milliseconds.",
    }),
  },
  { description: "Traces for OpenTelemetry." },
);

export type TelemetryConfig = Static<typeof telemetrySchema>;
