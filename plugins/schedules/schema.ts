import { Type } from "portico";
import { shorten } from "portico/strings";

/** The option of object schemas that refuses unknown members. */
export const closed = { additionalProperties: false } as const;

/** The members that definitions of every kind of schedule may have. */
export const entryFields = {
  description: Type.Optional(Type.String({ maxLength: 1_000 })),
  status: Type.Optional(Type.Union([Type.Literal("enabled"), Type.Literal("disabled")])),
  enabled: Type.Optional(
    Type.Boolean({
      description:
        "Whether the job or poll is enabled. In the configuration, this member replaces `status`.",
    }),
  ),
};

/** The delivery of a turn's result: `announce`, `none`, or the target to which it is posted. */
export const deliverySchema = Type.Union([
  Type.Literal("announce"),
  Type.Literal("none"),
  Type.Object(
    {
      url: Type.String({
        pattern: "^https?://[^\\s/]\\S*$",
        format: "uri",
        expected: "an http or https address",
        description: "The address that receives the result.",
      }),
      secret: Type.Optional(
        Type.String({
          // The mask from a listing is also valid, and stands for the existing secret.
          pattern: "^(?:(?:whsec_)?[A-Za-z0-9+/_-]{22,}={0,2}|\\*{8})$",
          expected: "whsec_ followed by at least 16 bytes in Base64",
          secret: true,
          description:
            "The signing secret: whsec_ followed by Base64. Deliveries are signed according to Standard Webhooks.",
        }),
      ),
      headers: Type.Optional(
        Type.Record(Type.String(), Type.String(), {
          description:
            "Headers of the delivery. Their values are templates with the placeholders of `body`.",
        }),
      ),
      body: Type.Optional(
        Type.Unknown({
          description:
            "A template that replaces the gateway's own body: a string, or JSON in which every string is a template. Placeholders: {result}, {session}, {turnId}, {status}, {error}, {json result} (the result written as a JSON value), and values of the event ({body.…}, {item.…}).",
        }),
      ),
    },
    closed,
  ),
]);

/** The name of an entry over HTTP. In the configuration, the key is the name. */
export const entryName = { name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })) };

/** A time zone in the configuration. Reading the file reports one that does not exist, with its line. */
export function zoneSchema(description: string) {
  return Type.String({
    description,
    refuse: (zone: string) => (isZone(zone) ? undefined : describeUnknownZone(zone)),
  });
}

const MAX_ZONES = 1_000;
/**
 * A cache, because validating a zone takes a tenth of a millisecond or more, and thousands of jobs use the same few
 * zones.
 */
const validZones = new Set<string>();

export function isZone(zone: string): boolean {
  if (validZones.has(zone)) return true;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: zone });
    if (validZones.size < MAX_ZONES) validZones.add(zone);
    return true;
  } catch {
    return false;
  }
}

const describeUnknownZone = (zone: string) =>
  `is ${shorten(JSON.stringify(zone), 60)}, which is not a time zone: write an IANA name such as Europe/Berlin or UTC`;
