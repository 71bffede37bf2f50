import "./server.ts";

await import("../retention.test.ts");
