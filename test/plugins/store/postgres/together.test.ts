import "./server.ts";

await import("../together.test.ts");
