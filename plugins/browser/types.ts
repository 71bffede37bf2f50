/** The types that the browser plugin shares with other plugins. No file imports this one at run time. */
import type { Method } from "portico";

export interface BrowserRequest {
  method: Method;
  /** The route's pattern: `/tabs/:targetId`. */
  route: string;
  params?: Readonly<Record<string, string>>;
  /** A value is a list if its name occurs several times. */
  query?: Readonly<Record<string, string | readonly string[]>>;
  body?: Record<string, unknown>;
  /** The caller's `Accept`. For `image/*` and `application/pdf`, a route returns bytes if it can. */
  accept?: string;
  /** Identifies the caller for `diff` snapshots. Default: `http`. */
  caller?: string;
  /** On a node: the policy of the gateway that it acts for. It then applies in addition to the node's own policy. */
  policy?: ImposedPolicy;
}

export interface ImposedPolicy {
  allowPrivate: boolean;
  hostnameAllowlist: string[];
  allowedHostnames: string[];
  evaluateEnabled: boolean;
  /** The gateway's own ports. They are blocked because a tunnel to the gateway may end on this machine. */
  ports: number[];
  /** The addresses at which the node reaches the gateway; the node sets them. */
  addresses?: string[];
}

/** Either a JSON body, or bytes with their media type. */
export type BrowserResponse = { body: object } | { bytes: Buffer; type: string };

declare module "portico" {
  interface Services {
    browser: BrowserService;
  }
  interface Events {
    "browser:navigated": { profile: string; targetId: string; url: string };
  }
}

export interface BrowserService {
  /** Sends a request to the control API without HTTP. Rejects with a `PorticoError`. */
  request(request: BrowserRequest): Promise<BrowserResponse>;
}
