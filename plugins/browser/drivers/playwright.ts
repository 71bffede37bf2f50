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
  /** Set if the screen is larger than the viewport. */
  screen?: { width: number; height: number };
  deviceScaleFactor: number;
  isMobile: boolean;
  hasTouch: boolean;
}

interface ConnectOptions {
  headers?: Record<string, string>;
  timeoutMs: number;
  /** True if the browser sees the same files as we do. */
  isLocal: boolean;
  /** Leaves focus, media and downloads of a browser unchanged. */
  noDefaults: boolean;
  /** The directory that stores downloads and traces until they are fetched. */
  artifactsDir: string;
}

export interface Library {
  /** Connects over a socket address, or over another transport. */
  connect(address: string | Transport, options: ConnectOptions): Promise<Browser>;
  devices: Readonly<Record<string, Device>>;
}

/** Loads the library. Rejects with `library_unavailable` (501) if the installation lacks it. */
export async function loadLibrary(): Promise<Library> {
  const { chromium, devices } = await import("playwright-core").catch((cause: unknown) => {
    throw libraryUnavailableError({ cause });
  });
  return {
    devices,
    connect(address, { timeoutMs, isLocal, noDefaults, artifactsDir, headers }) {
      const options = { timeout: timeoutMs, isLocal, noDefaults, artifactsDir, headers };
      return typeof address === "string"
        ? chromium.connectOverCDP(address, options)
        : chromium.connectOverCDP(address, options);
    },
  };
}

/** Creates the error for a missing library. `still` says what works without it. */
export function libraryUnavailableError({
  cause,
  still = "ARIA snapshots (`format=aria`) and basic screenshots work without this library.",
}: {
  cause?: unknown;
  still?: string;
} = {}): PorticoError {
  return errors.libraryUnavailable({ still }, { cause });
}
