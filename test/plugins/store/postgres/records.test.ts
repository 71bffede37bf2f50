import "./server.ts";
import "../records.test.ts";
