import "./server.ts";
import "../work.test.ts";
