/** The automation library: the only file that imports playwright-core, and only when something needs it. */
import type {
  Browser,
  BrowserContext,
  CDPSession,
  ConnectOverCDPTransport as Transport,
  Dialog,
  Download,
  FileChooser,
  Frame,
  Locator,
  Page,
  Request,
  Response,
  Route,
} from "playwright-core";
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";

export type {
  Browser,
  BrowserContext,
  CDPSession,
  Transport,
  Dialog,
  Download,
  FileChooser,
  Frame,
  Locator,
  Page,
  Request,
  Response,
  Route,
};

/** A device of the library's list, for `/set/device`. */
export interface Device {
  userAgent: string;
  viewport: { width: number; height: number };
  /** Where it is larger than what a page has of it. */
  screen?: { width: number; height: number };
  deviceScaleFactor: number;
  isMobile: boolean;
  hasTouch: boolean;
}

interface ConnectOptions {
  headers?: Record<string, string>;
  timeoutMs: number;
  /** The browser sees the same files as we do. */
  isLocal: boolean;
  /** Leaves focus, media and downloads of a browser as they are. */
  noDefaults: boolean;
  /** Where it keeps downloads and traces until they are fetched. */
  artifactsDir: string;
}

export interface Library {
  /** Over a socket, or over what carries messages instead of one. */
  connect(way: string | Transport, options: ConnectOptions): Promise<Browser>;
  devices: Readonly<Record<string, Device>>;
}

/** Loads the library; `library_unavailable` (501) where the installation lacks it. */
export async function loadLibrary(): Promise<Library> {
  const { chromium, devices } = await import("playwright-core").catch((cause: unknown) => {
    throw libraryUnavailable({ cause });
  });
  return {
    devices,
    connect(way, { timeoutMs, isLocal, noDefaults, artifactsDir, headers }) {
      const options = { timeout: timeoutMs, isLocal, noDefaults, artifactsDir, headers };
      return typeof way === "string"
        ? chromium.connectOverCDP(way, options)
        : chromium.connectOverCDP(way, options);
    },
  };
}

/** `still`: what can be done all the same. */
export function libraryUnavailable({
  cause,
  still = "ARIA snapshots (format=aria) and basic screenshots work without it.",
}: {
  cause?: unknown;
  still?: string;
} = {}): PorticoError {
  return errors.libraryUnavailable({ still }, { cause });
}
