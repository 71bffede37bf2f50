import "./server.ts";
import "../retention.test.ts";
