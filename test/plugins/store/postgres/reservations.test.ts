import "./server.ts";

await import("../reservations.test.ts");
