import "./server.ts";
import "../together.test.ts";
