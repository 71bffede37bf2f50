/**
 * `portico hooks rm` and `portico plugins rm`. They are not derived from routes, since they remove files of this machine
 * whether or not a gateway is running.
 */
import { existsSync, lstatSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command, CommandIO } from "portico/command-line";
import {
  isSamePlace,
  type ExtensionState,
  extensionRoute,
  loadState,
  findWorkspace,
} from "./gateway-or-disk.ts";

export function removeCommand(kind: "hooks" | "plugins"): Command {
  const noun = kind.slice(0, -1);
  return {
    name: "rm",
    summary: `Remove a ${noun}'s directory from the home or the workspace`,
    description: `A built-in ${noun} cannot be removed, but you can disable it. The settings of the ${noun} stay in the configuration.`,
    args: [{ name: "name", description: `The name of the ${noun} in \`portico ${kind} list\`` }],
    async run(io) {
      const name = io.args["name"] ?? "";
      const dir = await findDirectory(io, kind, name);
      const isLink = lstatSync(dir).isSymbolicLink();
      rmSync(dir, { recursive: !isLink });
      const replacement = await loadState(io, kind, name);
      io.show({ name, dir, state: replacement?.state ?? null }, () =>
        replacement
          ? `Removed ${dir}. ${name} is now loaded from ${replacement.dir} (${replacement.state}).`
          : `Removed ${dir}.`,
      );
    },
  };
}

/**
 * Finds the extension's directory in the root that takes precedence. If its name differs from its directory's, only the
 * gateway knows it.
 */
async function findDirectory(
  io: CommandIO,
  kind: "hooks" | "plugins",
  name: string,
): Promise<string> {
  const { paths } = io.home();
  const roots = [join(await findWorkspace(io), kind), join(paths.home, kind)];
  const isDirectoryName = /^[\w-][\w.-]*$/.test(name);
  const localDir = roots
    .map((root) => join(root, name))
    .find((path) => isDirectoryName && existsSync(path));
  const dir =
    localDir ??
    (
      await io.gateway
        .request<ExtensionState>("GET", extensionRoute(kind, name))
        .catch(() => undefined)
    )?.dir;
  const noun = kind.slice(0, -1);
  if (dir === undefined)
    throw new Error(
      `There is no ${noun} ${name} in ${roots.join(" or ")}. See portico ${kind} list.`,
    );
  if (!existsSync(dir))
    throw new Error(`${dir} is not on this machine: remove it where the gateway runs.`);
  if (!roots.some((root) => isSamePlace(root, dirname(dir))))
    throw new Error(
      `${name} is in ${dir}, and this command removes nothing from that directory. Disable the extension instead: portico ${kind} disable ${name}`,
    );
  return dir;
}
