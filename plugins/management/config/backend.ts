/** What `portico config` works on: the file of a home, or the gateway at `--url`. */
import type { CommandIO } from "portico/command-line";
import type { ConfigDoor } from "./change.ts";
import { FileDoor } from "./file-door.ts";
import { GatewayDoor } from "./gateway-door.ts";

export function doorOf(io: CommandIO): ConfigDoor {
  const isRemote = (io.options["url"] ?? io.env["PORTICO_URL"]) !== undefined;
  return isRemote ? new GatewayDoor(io.gateway) : new FileDoor(io);
}
