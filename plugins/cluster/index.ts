/** `portico/cluster`: what the workers of a gateway, and the gateways that share a store, exchange. Types only. */

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
  /** Sends data to the workers of this gateway and the gateways that share its store: within a second, or never. */
  tell(signal: string, data: unknown): void;
}

/** Receives the data that other processes send under its name. Data is anything that JSON can hold. */
export interface Signal {
  name: string;
  take(data: never): void;
}

/** A gateway that uses the store, as `GET /gateways` lists it. JSON-ready: times are ISO 8601. */
export interface GatewayEntry {
  /** The id of the gateway, which is new at each start. */
  id: string;
  /** `gateway.name`, or the name of its machine. */
  name: string;
  /** The name of its machine. */
  host: string;
  /** The address on which it listens: `http://10.0.0.7:18789`. */
  url: string;
  version: string;
  /** The process to send signals to. */
  pid: number;
  /** The number of its worker processes; 1 without workers. */
  workers: number;
  startedAt: string;
  /** The last time at which the gateway renewed its entry. */
  seenAt: string;
  /** Milliseconds since `seenAt`, by the clock of the store. */
  ageMs: number;
  /** Whether this gateway sent the response. */
  isThis: boolean;
}

/** A stream of values in each process, which runs only while another process watches it. */
export interface Feed {
  name: string;
  /** Called while a client of another process watches. The returned function ends it. */
  begin(send: (data: unknown) => void): () => unknown;
  /** If true, the feed serves only the workers of this gateway, not other gateways. */
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
