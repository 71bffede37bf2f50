import "./server.ts";

await import("../model.test.ts");
