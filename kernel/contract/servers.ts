/** Servers of plugins. */
import type { Mount } from "./routes.ts";

export interface ServerOptions {
  name: string;
  /** The port is `gateway.port + portOffset`; any free one where `gateway.port` is 0. Always on loopback. */
  portOffset?: number;
  /** The port itself, in place of `portOffset`; then the server is shared with nobody. */
  port?: number;
  /** Origins that may call, beside none at all. */
  origins?: readonly string[];
}

export interface ServerHandle extends Mount {
  readonly port: number;
  readonly url: string;
  /** Takes its routes away and closes it, before the plugin's end. */
  close(): Promise<void>;
}
