/** The configuration that `portico config` works on: the file of a home, or the gateway at `--url`. */
import type { CommandIO } from "portico/command-line";
import type { ConfigBackend } from "./change.ts";
import { FileBackend } from "./file-backend.ts";
import { GatewayBackend } from "./gateway-backend.ts";

export function selectBackend(io: CommandIO): ConfigBackend {
  const isRemote = (io.options["url"] ?? io.env["PORTICO_URL"]) !== undefined;
  return isRemote ? new GatewayBackend(io.gateway) : new FileBackend(io);
}
