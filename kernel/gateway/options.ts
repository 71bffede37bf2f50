import type { WorkerLink } from "../contract/workers.ts";
import type { Loader } from "../loader/load.ts";
import type { Paths } from "../contract/index.ts";

/** The options of a gateway's start. */
export interface GatewayOptions {
  paths: Paths;
  env: Record<string, string | undefined>;
  version: string;
  loader: Loader;
  /** Replaces `gateway.port` of the configuration. */
  port?: number;
  /** Only these plugins run. The others stay off, but their configuration is checked. */
  only?: readonly string[];
  /** The link to the other workers, if the gateway has several. */
  link?: WorkerLink | undefined;
  /** Receives the log lines in addition to the log file. */
  write?: (line: string) => void;
}
