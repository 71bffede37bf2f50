export * from "./call-ids.ts";
export * from "./capabilities.ts";
export * from "./carry.ts";
export * from "./claude-settings.ts";
export * from "./conversation.ts";
export * from "./fields.ts";
export * from "./strict-schema.ts";
export * from "./tools.ts";
