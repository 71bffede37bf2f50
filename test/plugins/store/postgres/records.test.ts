import "./server.ts";

await import("../records.test.ts");
