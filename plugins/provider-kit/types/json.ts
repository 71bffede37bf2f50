/** A JSON object whose fields are still to be checked. */
export type JsonObject = Record<string, unknown>;
