/** The events of the package that the definitions of its plugins declare. */
import { join } from "node:path";
import { loaderFor } from "../../../kernel/package-loader.ts";
import { kernelEvents } from "../../../kernel/gateway/events.ts";
import { readPlugins } from "../../../kernel/host/extensions/plugins/candidate.ts";
import type { EventOutline } from "../../../kernel/contract/index.ts";
import { packageDir } from "../gateway.ts";

export async function declaredEvents(): Promise<Record<string, EventOutline>> {
  const roots = [{ name: "bundled", dir: join(packageDir, "plugins"), rank: 0 }];
  const plugins = await readPlugins(
    roots,
    loaderFor({ package: packageDir, state: join(packageDir, ".build") }),
  );
  const tables = plugins.flatMap(({ meta }) => meta?.events ?? []);
  return Object.assign({ ...kernelEvents }, ...tables) as Record<string, EventOutline>;
}
