/** The events of the package, as the definitions of its plugins declare them. */
import { join } from "node:path";
import { discover } from "../../kernel/extensions/discover.ts";
import { createPackageLoader } from "../../kernel/extensions/package-loader.ts";
import { kernelEvents } from "../../kernel/gateway/events.ts";
import type { EventOutline } from "../../kernel/hooks/scaffold.ts";
import { loadDefinitions, pluginEntryNames } from "../../kernel/plugins/definitions.ts";
import { packageDir } from "./gateway.ts";

export async function declaredEvents(): Promise<Record<string, EventOutline>> {
  const found = discover([{ name: "bundled", dir: join(packageDir, "plugins"), rank: 0 }], pluginEntryNames);
  const definitions = await loadDefinitions(found, createPackageLoader(packageDir));
  const tables = definitions.flatMap(({ definition }) => definition?.events ?? []);
  return Object.assign({ ...kernelEvents }, ...tables) as Record<string, EventOutline>;
}
