/** What the browser plugin shares with others. Types only: nobody imports this file at run time. */
import type { Method } from "portico";

export interface BrowserRequest {
  method: Method;
  /** The route's pattern: `/tabs/:targetId`. */
  route: string;
  params?: Readonly<Record<string, string>>;
  /** A list where a name occurs several times. */
  query?: Readonly<Record<string, string | readonly string[]>>;
  body?: Record<string, unknown>;
  /** The caller's `Accept`: `image/*` and `application/pdf` get bytes where a route has them. */
  accept?: string;
  /** Who asks, for `diff` snapshots; default `http`. */
  caller?: string;
  /** On a node: the policy of the gateway that it acts for. From then on it holds beside the node's own. */
  policy?: ImposedPolicy;
}

export interface ImposedPolicy {
  allowPrivate: boolean;
  hostnameAllowlist: string[];
  allowedHostnames: string[];
  evaluateEnabled: boolean;
  /** The gateway's own ports: a tunnel to it may end on this machine. */
  ports: number[];
  /** Where the node reaches the gateway; the node fills it in. */
  addresses?: string[];
}

/** JSON, or bytes of that type. */
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
  /** The control API without HTTP. Rejects with a `PorticoError`. */
  request(request: BrowserRequest): Promise<BrowserResponse>;
}
