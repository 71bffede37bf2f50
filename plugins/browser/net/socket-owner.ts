/**
 * Whose process a local TCP connection comes from. Chromium has no credentials for a SOCKS proxy, so the proxy looks at
 * the process that opened the connection instead. Only Linux says which one that is, in /proc.
 */
import { readdir, readFile, readlink } from "node:fs/promises";

/** The two ends of a connection over 127.0.0.1, as the one who accepted it sees them. */
export interface LocalPeer {
  /** The port that the client connected from. */
  remotePort: number;
  /** The port that it connected to. */
  localPort: number;
}

/** True where `createPeerCheck` can tell processes apart. */
export const knowsPeers = process.platform === "linux";

/**
 * Makes the check whether a connection comes from a process of the group that `leader` leads: the browser is started as
 * the leader of a group of its own, and the processes that it starts stay in it.
 */
export function createPeerCheck(
  leader: () => number | undefined,
): (peer: LocalPeer) => Promise<boolean> {
  /** The process that opened the last connection: nearly always it opens the next one too. */
  let usual: number | undefined;
  return async (peer) => {
    const group = leader();
    const inode = await inodeOf(peer);
    if (group === undefined || inode === undefined) return false;
    const candidates = usual === undefined ? [] : [usual];
    for (const pid of [...candidates, ...(await processes())]) {
      if (!(await isInGroup(pid, group)) || !(await holdsSocket(pid, inode))) continue;
      usual = pid;
      return true;
    }
    return false;
  };
}

/** The group of the process that listens at a port of this machine; undefined where the system does not show it. */
export async function listenerGroup(port: number): Promise<number | undefined> {
  const inode = await inodeOf({ remotePort: port, localPort: 0 });
  if (inode === undefined) return undefined;
  for (const pid of await processes())
    if (await holdsSocket(pid, inode)) return (await readStat(pid))?.group;
  return undefined;
}

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");

/** The client's end of a connection; with a `localPort` of 0, what listens at `remotePort`. */
async function inodeOf({ remotePort, localPort }: LocalPeer): Promise<string | undefined> {
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((file) => readFile(file, "utf8").catch(() => "")),
  );
  const [mine, theirs] = [`:${hexPort(remotePort)}`, `:${hexPort(localPort)}`];
  for (const line of tables.join("\n").split("\n")) {
    const fields = line.trim().split(/\s+/);
    const [, local = "", remote = ""] = fields;
    // 0 stands for a socket that its process has closed.
    if (local.endsWith(mine) && remote.endsWith(theirs) && fields[9] !== "0") return fields[9];
  }
  return undefined;
}

async function processes(): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

const isInGroup = async (pid: number, group: number): Promise<boolean> =>
  (await readStat(pid))?.group === group;

async function readStat(pid: number): Promise<{ group: number } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name of the program stands in parentheses and may hold any character.
  const [, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return group === undefined ? undefined : { group: Number(group) };
}

async function holdsSocket(pid: number, inode: string): Promise<boolean> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    const target = await readlink(`${directory}/${name}`).catch(() => "");
    if (target === `socket:[${inode}]`) return true;
  }
  return false;
}
