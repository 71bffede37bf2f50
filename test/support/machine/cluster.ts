/** What `initdb` makes for a PostgreSQL, in which it then keeps its databases. */
import { execFile } from "node:child_process";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Of the user that the server has for the tests. */
export const PASSWORD = "correct horse";

/** `nobody`: the server refuses to run as root. */
const NOBODY = 65_534;

/** As whom its programs run. */
export const postgresUser = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** In a directory that is that user's from now on. `bin` is where the server's programs are. */
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

/** Another one, with its owners. */
export async function copyCluster(from: string, to: string): Promise<void> {
  await run("cp", ["-a", from, to]);
}

/**
 * For a run of the suite, whose servers copy it: `initdb` takes a second of processor time. Made in a directory that
 * everybody may enter, as the package's need not be.
 */
export async function makeClusterOnce(bin: string, temporary: string, to: string): Promise<void> {
  const dir = mkdtempSync(join(temporary, "portico-initdb-"));
  try {
    await copyCluster(await makeCluster(bin, dir), to);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
