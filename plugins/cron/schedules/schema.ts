import { Type } from "portico";

/** Nothing but what is named. */
export const closed = { additionalProperties: false } as const;

/** What schedules of every kind may be given, beside what their kind is made of. */
export const entryFields = {
  description: Type.Optional(Type.String({ maxLength: 1_000 })),
  status: Type.Optional(Type.Union([Type.Literal("enabled"), Type.Literal("disabled")])),
  enabled: Type.Optional(Type.Boolean({ description: "The same as status, for the configuration" })),
};

/** Over HTTP; in the configuration the key is the name. */
export const entryName = { name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })) };
