/** Creates PostgreSQL clusters with `initdb`: the directories in which a server stores its databases. */
import { execFile } from "node:child_process";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The password of the tests' database user. */
export const PASSWORD = "correct horse";

/** The id of `nobody`. The server refuses to run as root. */
const NOBODY = 65_534;

/** The user that runs PostgreSQL's programs. */
export const postgresUser = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/**
 * Creates a cluster in `dir`, which then belongs to that user. `bin` is the directory of the server's programs. Returns the
 * cluster's directory.
 */
export async function makeCluster(bin: string, dir: string): Promise<string> {
  const { uid, gid } = postgresUser;
  const data = join(dir, "data");
  const password = join(dir, "pw");
  writeFileSync(password, PASSWORD, { mode: 0o600 });
  if (uid !== undefined) for (const path of [dir, password]) chownSync(path, uid, gid);
  const auth = ["--auth-local=trust", "--auth-host=scram-sha-256", `--pwfile=${password}`];
  // The locale that the environment names may not be installed.
  const args = ["-D", data, "-U", "portico", ...auth, "-N", "--no-locale", "-E", "UTF8"];
  await run(join(bin, "initdb"), args, { ...postgresUser, cwd: dir });
  return data;
}

/** Copies a cluster with its owners. */
export async function copyCluster(from: string, to: string): Promise<void> {
  await run("cp", ["-a", from, to]);
}

/**
 * Creates a cluster for a run of the suite. All servers of the run copy it, because `initdb` takes a second of processor
 * time. It is created in a directory that every user may enter, unlike perhaps the package's.
 */
export async function makeClusterOnce(bin: string, temporary: string, to: string): Promise<void> {
  const dir = mkdtempSync(join(temporary, "portico-initdb-"));
  try {
    await copyCluster(await makeCluster(bin, dir), to);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
