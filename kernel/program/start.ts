/** Starts a home's gateway in this process. */
import { join } from "node:path";
import { asError } from "../errors.ts";
import { type HomeOptions, resolvePaths } from "../files/paths.ts";
import { type Gateway, startGateway } from "../gateway/gateway.ts";
import type { GatewayOptions } from "../gateway/options.ts";
import { isOwnFault } from "../host/extensions/culprit.ts";
import { currentOwner } from "../host/owner.ts";
import type { Paths } from "../contract/index.ts";
import type { LoaderFor } from "./home.ts";
import { readRunning } from "../home/running.ts";

export interface StartOptions
  extends HomeOptions,
    Pick<GatewayOptions, "only" | "port" | "link" | "write"> {}

export interface StartedGateway
  extends Pick<Gateway, "url" | "token" | "tokenIsNew" | "list" | "use" | "accept" | "stop"> {
  /** Searches for changed plugins and hooks. */
  rescan(): void;
  /**
   * Logs an uncaught error, and counts it as a failure of the hook that caused it. Returns whether the gateway can
   * continue: it cannot after an error in its own code, which leaves its state unknown.
   */
  strayError(kind: string, thrown: unknown): boolean;
}

interface StartContext extends Pick<GatewayOptions, "env" | "version"> {
  loaderFor: LoaderFor;
}

/** Starts the gateway. With `only`, the home's commands do not find it. */
export async function startHere(
  options: StartOptions,
  { env, version, loaderFor }: StartContext,
): Promise<StartedGateway> {
  const { only, port, link, write } = options;
  const paths = pathsFor(resolvePaths(options, env), only !== undefined);
  process.setSourceMapsEnabled(true);
  const gateway = await startGateway({
    paths,
    env,
    version,
    port,
    only,
    link,
    write,
    loader: loaderFor(paths),
  });
  return Object.assign(gateway, {
    rescan() {
      void gateway.plugins.rescan();
      void gateway.hooks.rescan();
    },
    strayError(kind: string, thrown: unknown) {
      const error = asError(thrown);
      const owner =
        currentOwner()?.owner ??
        gateway.hooks.findInStack(error) ??
        gateway.plugins.findInStack(error);
      gateway.log.log.error({ err: error, owner }, `${kind}${owner ? ` of ${owner}` : ""}`);
      if (owner) gateway.hooks.strayError(owner, error);
      return owner !== undefined || !isOwnFault(error, paths.package);
    },
  });
}

/**
 * Resolves the paths. A gateway with only some plugins keeps its temporary files in its home, because the shared
 * directory belongs to the machine's gateway.
 */
function pathsFor(paths: Paths, isPart: boolean): Paths {
  if (!isPart) return paths;
  if (readRunning(paths.state) !== undefined)
    throw new Error(
      `Another gateway already runs from ${paths.home}. Stop it, or choose another home with --home DIR.`,
    );
  return { ...paths, tmp: join(paths.state, "tmp") };
}
