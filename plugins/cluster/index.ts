/** `portico/cluster`: what the processes of a gateway, and the gateways that share a store, tell and know of each other. Types only. */

declare module "portico" {
  interface Services {
    cluster: ClusterService;
  }
  interface Contributions {
    signal: Signal;
    feed: Feed;
    feedWatcher: FeedWatcher;
  }
}

export interface ClusterService {
  /** To the workers of this gateway, and to the gateways that share its store: there within a second, or never. */
  tell(signal: string, data: unknown): void;
}

/** Takes what other processes tell under its name. Data is anything that JSON can hold. */
export interface Signal {
  name: string;
  take(data: never): void;
}

/** A gateway that uses the store, as `GET /gateways` lists it. JSON-ready: times are ISO 8601. */
export interface GatewayEntry {
  /** New at each start. */
  id: string;
  /** `gateway.name`, or the name of its machine. */
  name: string;
  /** The name of its machine. */
  host: string;
  /** Where it listens: `http://10.0.0.7:18789`. */
  url: string;
  version: string;
  /** The process to send signals to. */
  pid: number;
  /** How many processes do its work. */
  workers: number;
  startedAt: string;
  /** Its last sign of life. */
  seenAt: string;
  /** Milliseconds since then, by the clock of the store. */
  ageMs: number;
  /** Whether it is the one that responds. */
  isThis: boolean;
}

/** A stream of values in each process, which runs only while another process watches it. */
export interface Feed {
  name: string;
  /** Called while a client of another process watches. The returned function ends it. */
  begin(send: (data: unknown) => void): () => unknown;
  /** Only to the workers of this gateway, not to other gateways. */
  ofOneGateway?: boolean;
}

/**
 * Receives what the feed of that name sends in every other process, until the contribution is undone. It is a contribution
 * and no call of the service, so that it survives a reload of the plugin that provides the service.
 */
export interface FeedWatcher {
  name: string;
  take(data: unknown): void;
}
