export * from "./book.ts";
export * from "./claim-loop.ts";
export * from "./commands.ts";
export * from "./duration.ts";
export * from "./live.ts";
export * from "./rounds.ts";
export * from "./routes.ts";
