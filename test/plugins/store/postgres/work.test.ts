import "./server.ts";

await import("../work.test.ts");
