import { UsageError } from "./parse.ts";

export function checkPort(port: number | undefined): number | undefined {
  if (port === undefined || (Number.isInteger(port) && port >= 0 && port <= 65535)) return port;
  throw new UsageError(`--port takes a number from 0 to 65535, not ${port}.`);
}
