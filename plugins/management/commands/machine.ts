/** Checks of `portico doctor` on the machine itself: the home, its permissions, and the port. */
import { accessSync, constants, readdirSync, type Stats, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Paths } from "portico";
import type { Finding } from "portico/command-line";

export function checkHome({ home }: Paths): Finding[] {
  const remedy = `Make sure that you own ${home} and can read and write it (\`chmod 700 ${home}\`), or choose another directory with --home.`;
  let stats: Stats | undefined;
  try {
    stats = statSync(home, { throwIfNoEntry: false });
    if (!stats) return [{ level: "ok", message: `the first start creates ${home}` }];
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return [
      {
        level: "error",
        message: `${home} cannot be used: ${(error as NodeJS.ErrnoException).code}`,
        remedy,
      },
    ];
  }
  const { mode, uid } = stats;
  if (!stats.isDirectory())
    return [{ level: "error", message: `${home} is not a directory`, remedy }];
  if (uid !== (process.getuid?.() ?? uid))
    return [{ level: "warning", message: `${home} belongs to another user`, remedy }];
  if ((mode & 0o077) === 0) return [{ level: "ok", message: home }];
  const message = `other users can enter ${home} (mode ${(mode & 0o777).toString(8)})`;
  return [{ level: "warning", message, remedy: `Run \`chmod 700 ${home}\`.` }];
}

/** Checks that only the owner can read files that contain secrets. */
export function checkPermissions({ home, config, state }: Paths): Finding[] {
  const readableFiles = [config, join(home, ".env"), state, ...filesIn(state)].filter(
    (file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0,
  );
  if (readableFiles.length === 0)
    return [{ level: "ok", message: "only their owner can read the files that hold secrets" }];
  return readableFiles.map((file) => ({
    level: "error",
    message: `other users can read ${file}`,
    remedy: `Run \`chmod go= ${file}\`.`,
  }));
}

function filesIn(dir: string): string[] {
  try {
    const entries = readdirSync(dir, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => join(dir, name));
  } catch {
    return [];
  }
}

export async function checkPort(config: Readonly<Record<string, unknown>>): Promise<Finding[]> {
  const { port, bind } = config["gateway"] as { port: number; bind: string };
  const code = await new Promise<string | undefined>((resolve) => {
    const server = createServer().once("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code ?? error.message),
    );
    server.listen(port, bind, () => server.close(() => resolve(undefined)));
  });
  if (code === undefined)
    return [{ level: "ok", message: `${bind}:${port} is free; no gateway is running` }];
  const reason = code === "EADDRINUSE" ? "is in use by another program" : `cannot be used: ${code}`;
  const remedy =
    "Stop that program, or choose another port with `portico config set gateway.port N`.";
  return [{ level: "error", message: `${bind}:${port} ${reason}`, remedy }];
}
