/** A configuration file in a directory of its own, opened as the gateway does. */
import type { ConfigSchemas } from "portico";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { type ConfigStore, openConfig } from "../../../kernel/config/config.ts";
import type { ConfigOptions } from "../../../kernel/config/read.ts";
import { temporaryDir } from "../../support/temporary.ts";

/** Sections as plugins would define them. */
export const schemas: ConfigSchemas = {
  "channels.*": Type.Object({
    provider: Type.String(),
    apiKey: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    models: Type.Optional(Type.Array(Type.String())),
    weight: Type.Number({ default: 1 }),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  }),
  "gateway.nodes": Type.Object({
    browser: Type.Object({ mode: Type.String({ default: "auto" }) }),
  }),
  webhooks: Type.Object({
    enabled: Type.Boolean({ default: false }),
    token: Type.Optional(Type.String()),
    rateLimit: Type.Object({ maxRequests: Type.Integer({ minimum: 1, default: 100 }) }),
  }),
};

export async function openWith(
  text: string | undefined,
  options: Partial<ConfigOptions> = {},
): Promise<{
  config: ConfigStore;
  file: string;
  text: () => string;
  write: (text: string) => void;
}> {
  const file = join(temporaryDir("portico-config-"), "portico.json");
  if (text !== undefined) writeFileSync(file, text);
  const config = await openConfig({ file, env: {}, ...options });
  config.define("test", schemas);
  return {
    config,
    file,
    text: () => readFileSync(file, "utf8"),
    write: (next) => writeFileSync(file, next),
  };
}
