import "./server.ts";
import "../model.test.ts";
