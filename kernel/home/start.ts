/** A home's gateway, in this process. */
import { join } from "node:path";
import type { StartedGateway, StartOptions } from "../contract/program.ts";
import { asError } from "../errors.ts";
import { resolvePaths } from "../files/paths.ts";
import { startGateway } from "../gateway/gateway.ts";
import type { GatewayOptions } from "../gateway/types.ts";
import { running } from "../owner.ts";
import { createPackageLoader } from "../package-loader.ts";
import type { Paths } from "../types.ts";
import { readRunning } from "./running.ts";

type Given = Pick<GatewayOptions, "env" | "version">;

export async function startHere(options: StartOptions, { env, version }: Given): Promise<StartedGateway> {
  const { only, port, link, write } = options;
  const paths = placesOf(resolvePaths(options, env), only !== undefined);
  process.setSourceMapsEnabled(true);
  const loader = createPackageLoader(paths.package, join(paths.state, "cache"));
  const gateway = await startGateway({ paths, env, version, port, only, link, loader, write });
  return Object.assign(gateway, {
    rescan() {
      void gateway.plugins.rescan();
      void gateway.hooks.rescan();
    },
    strayError(kind: string, thrown: unknown) {
      const owner = running()?.owner;
      const error = asError(thrown);
      gateway.log.log.error({ err: error, owner }, `${kind}${owner ? ` of ${owner}` : ""}`);
      if (owner) gateway.hooks.strayError(owner, error);
      return owner !== undefined;
    },
  });
}

/** A part of a gateway keeps its files in its home: the temporary root belongs to the gateway of the machine. */
function placesOf(paths: Paths, isPart: boolean): Paths {
  if (!isPart) return paths;
  if (readRunning(paths.state) !== undefined) {
    throw new Error(`Another Portico runs from ${paths.home}: give this one a home of its own with --home DIR.`);
  }
  return { ...paths, tmp: join(paths.state, "tmp") };
}
