/**
 * Limits the number of client connections that the process holds at a time. Each takes a file handle, and a gateway
 * without handles can open neither its store nor an upstream. When there is no room, the oldest idle connection is
 * closed; when none is idle, the new one is refused.
 */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { getCallerKey, parseNetworks } from "../net/address.ts";
import { derived } from "../memory/derived.ts";

export interface ConnectionSettings {
  maxConnections: number | "auto";
  maxConnectionsPerAddress: number | "auto";
  trustedProxies: readonly string[];
}

export interface ConnectionCounts {
  open: number;
  limit: number;
  perAddress: number;
  /** The number of file handles that the process may open. */
  handles: number;
  /** The number of connections that were refused, and of idle ones that were closed to make room, since the start. */
  refused: number;
  displaced: number;
}

/** One connection that the limit counts. */
export interface Admission {
  /** Sets the function that says whether the connection can be closed without harm. Until then it can. */
  setIdle(isIdle: () => boolean): void;
}

interface Entry {
  socket: Socket;
  caller: string;
  isIdle: () => boolean;
}

/** The maximum of the automatic limit: more connections take too much memory, however many handles there are. */
const MAX_AUTOMATIC_LIMIT = 16_384;
/** The default for a system that does not state its limit. */
const DEFAULT_HANDLES = 1_024;

/**
 * Returns the number of handles that are reserved for files, the store and the like: a quarter of all, but at least 128
 * or half of all.
 */
const computeReserve = (handles: number): number =>
  Math.max(Math.floor(handles / 4), Math.min(128, Math.floor(handles / 2)));

/** The process's soft limit of open files. */
function readHandleLimit(): number {
  try {
    const line = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
    if (line) return Number(line[1]);
  } catch {
    // Other systems than Linux have no such file.
  }
  const report = process.report?.getReport() as
    | { userLimits?: { open_files?: { soft?: number | string } } }
    | undefined;
  const soft = Number(report?.userLimits?.open_files?.soft);
  return Number.isFinite(soft) ? soft : DEFAULT_HANDLES;
}

const networksOf = derived(parseNetworks);

export type ConnectionLimit = ReturnType<typeof createConnectionLimit>;

export function createConnectionLimit(
  settings: () => ConnectionSettings,
  handles: number = readHandleLimit(),
) {
  /** The connections in the order in which they were accepted. */
  const entries = new Map<Socket, Entry>();
  const perCaller = new Map<string, number>();
  let refused = 0;
  let displaced = 0;

  function limits(): { limit: number; perAddress: number } {
    const { maxConnections, maxConnectionsPerAddress } = settings();
    const room = handles - computeReserve(handles);
    // A connection with a request in progress may need a second handle for its upstream.
    const automatic = Math.min(MAX_AUTOMATIC_LIMIT, Math.max(1, Math.floor(room / 2)));
    const limit = maxConnections === "auto" ? automatic : Math.min(maxConnections, room);
    const half = Math.max(1, Math.floor(limit / 2));
    const perAddress = maxConnectionsPerAddress === "auto" ? half : maxConnectionsPerAddress;
    return { limit, perAddress: Math.min(perAddress, limit) };
  }

  const isProxy = (address: string): boolean => {
    const { trustedProxies } = settings();
    return trustedProxies.length > 0 && networksOf(trustedProxies).contains(address);
  };

  function release(entry: Entry): void {
    if (!entries.delete(entry.socket)) return;
    const remaining = (perCaller.get(entry.caller) ?? 1) - 1;
    if (remaining > 0) perCaller.set(entry.caller, remaining);
    else perCaller.delete(entry.caller);
  }

  /**
   * Closes an idle connection: the first that has never received a response, or else the oldest. With `caller`, only
   * one of that caller. Returns false if none is idle.
   */
  function makeRoom(caller: string | undefined): boolean {
    let victim: Entry | undefined;
    for (const entry of entries.values()) {
      if ((caller !== undefined && entry.caller !== caller) || !entry.isIdle()) continue;
      victim ??= entry;
      if (entry.socket.bytesWritten > 0) continue;
      victim = entry;
      break;
    }
    if (victim === undefined) return false;
    displaced++;
    release(victim);
    victim.socket.destroy();
    return true;
  }

  return {
    /** Counts a connection until it closes. Returns undefined if there is no room for it. */
    admit(socket: Socket): Admission | undefined {
      const address = socket.remoteAddress?.replace(/^::ffff:/, "") ?? "";
      const caller = isProxy(address) ? "" : getCallerKey(address);
      const { limit, perAddress } = limits();
      const isShareUsed = caller !== "" && (perCaller.get(caller) ?? 0) >= perAddress;
      const hasRoom = isShareUsed ? makeRoom(caller) : entries.size < limit || makeRoom(undefined);
      if (!hasRoom) {
        refused++;
        return undefined;
      }
      const entry: Entry = { socket, caller, isIdle: () => true };
      entries.set(socket, entry);
      perCaller.set(caller, (perCaller.get(caller) ?? 0) + 1);
      socket.once("close", () => release(entry));
      return {
        setIdle(isIdle) {
          entry.isIdle = isIdle;
        },
      };
    },
    counts: (): ConnectionCounts => ({
      open: entries.size,
      ...limits(),
      handles,
      refused,
      displaced,
    }),
  };
}
