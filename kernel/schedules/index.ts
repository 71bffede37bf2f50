export * from "./book.ts";
export * from "./live.ts";
export * from "./routes.ts";
