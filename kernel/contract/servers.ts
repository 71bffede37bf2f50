/** Servers of plugins. */
import type { Mount } from "./routes.ts";

export interface ServerOptions {
  name: string;
  /** The port is `gateway.port + portOffset`; any free one if `gateway.port` is 0. The server is always on loopback. */
  portOffset?: number;
  /** The port itself, instead of `portOffset`. The server is then not shared. */
  port?: number;
  /** Origins that may call, in addition to requests without one. */
  origins?: readonly string[];
}

export interface ServerHandle extends Mount {
  readonly port: number;
  readonly url: string;
  /** Removes the routes and closes the server, before the plugin is unloaded. */
  close(): Promise<void>;
}
