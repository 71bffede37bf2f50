import type { WorkerLink } from "../contract/workers.ts";
import type { Loader } from "../loader/load.ts";
import type { Paths } from "../contract/index.ts";

/** What a gateway is started with. */
export interface GatewayOptions {
  paths: Paths;
  env: Record<string, string | undefined>;
  version: string;
  loader: Loader;
  /** Replaces `gateway.port` of the configuration. */
  port?: number;
  /** Only these plugins run; the others are known (their configuration is checked) and stay off. */
  only?: readonly string[];
  /** Where it is one of several processes of a gateway. */
  link?: WorkerLink | undefined;
  /** Where log lines go beside the log file. */
  write?: (line: string) => void;
}
