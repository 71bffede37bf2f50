/** A JSON object whose members have not been checked. */
export type JsonObject = Record<string, unknown>;
