/**
 * Determines which process opened a local TCP connection. Chromium sends no credentials to a SOCKS proxy, so the proxy
 * checks the process that opened the connection instead. Only Linux provides that, in /proc.
 */
import { readdir, readFile, readlink } from "node:fs/promises";

/** The two ports of a connection over 127.0.0.1, from the point of view of the side that accepted it. */
export interface LocalPeer {
  /** The port that the client connected from. */
  remotePort: number;
  /** The port that the client connected to. */
  localPort: number;
}

/** True if `createPeerCheck` can identify processes on this platform. */
export const canIdentifyPeers = process.platform === "linux";

/**
 * Creates a check whether a connection comes from a process of the group that `leader` leads. The browser is started as
 * the leader of its own group, and the processes that it starts stay in that group.
 */
export function createPeerCheck(
  leader: () => number | undefined,
): (peer: LocalPeer) => Promise<boolean> {
  /** The process that opened the last connection. It nearly always opens the next one too. */
  let lastOwner: number | undefined;
  return async (peer) => {
    const group = leader();
    const inode = await findInode(peer);
    if (group === undefined || inode === undefined) return false;
    const candidates = lastOwner === undefined ? [] : [lastOwner];
    for (const pid of [...candidates, ...(await listProcesses())]) {
      if (!(await isInGroup(pid, group)) || !(await ownsSocket(pid, inode))) continue;
      lastOwner = pid;
      return true;
    }
    return false;
  };
}

/**
 * Returns the group of the process that listens at a port of this machine, or `undefined` if the system does not show
 * it.
 */
export async function findListenerGroup(port: number): Promise<number | undefined> {
  const inode = await findInode({ remotePort: port, localPort: 0 });
  if (inode === undefined) return undefined;
  for (const pid of await listProcesses())
    if (await ownsSocket(pid, inode)) return (await readStat(pid))?.group;
  return undefined;
}

const toHexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");

/**
 * Returns the inode of the client's end of a connection; with a `localPort` of 0, of the socket that listens at
 * `remotePort`.
 */
async function findInode({ remotePort, localPort }: LocalPeer): Promise<string | undefined> {
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((file) => readFile(file, "utf8").catch(() => "")),
  );
  const [localSuffix, remoteSuffix] = [`:${toHexPort(remotePort)}`, `:${toHexPort(localPort)}`];
  for (const line of tables.join("\n").split("\n")) {
    const fields = line.trim().split(/\s+/);
    const [, local = "", remote = ""] = fields;
    // The inode 0 stands for a socket that its process has closed.
    if (local.endsWith(localSuffix) && remote.endsWith(remoteSuffix) && fields[9] !== "0")
      return fields[9];
  }
  return undefined;
}

async function listProcesses(): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

const isInGroup = async (pid: number, group: number): Promise<boolean> =>
  (await readStat(pid))?.group === group;

async function readStat(pid: number): Promise<{ group: number } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name of the program is in parentheses and may contain any character.
  const [, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return group === undefined ? undefined : { group: Number(group) };
}

async function ownsSocket(pid: number, inode: string): Promise<boolean> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    const target = await readlink(`${directory}/${name}`).catch(() => "");
    if (target === `socket:[${inode}]`) return true;
  }
  return false;
}
