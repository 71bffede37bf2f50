/** The browsers of a machine belong to one worker: the others ask it. */
import type { PluginContext, PorticoError, Workers } from "portico";
import { errors } from "./errors.ts";
import type { TargetChoice, Targets } from "./targets/targets.ts";
import { addTool } from "./tool.ts";
import type { BrowserRequest, BrowserResponse } from "./types.ts";

const FIRST = 0;
const TOPIC = "browser";
/** Each route has a limit of its own below this. */
const LIMIT_MS = 700_000;

interface Asked {
  request: BrowserRequest;
  choice?: TargetChoice;
}

/** True in a worker without browsers, which has got what it needs to ask for them. */
export function asksElsewhere(ctx: PluginContext): boolean {
  const workers = ctx.find("workers");
  if (!workers || workers.index === FIRST) return false;
  const ask = (asked: Asked) => askFirst(workers, asked);
  const targets: Targets = {
    route: (request) => ask({ request }),
    routeFor: (request, choice) => ask({ request, choice }),
  };
  ctx.provide("browser", targetsAsService(targets));
  addTool(ctx, targets);
  return true;
}

const targetsAsService = ({ route }: Targets) => ({ request: route });

async function askFirst(workers: Workers, asked: Asked): Promise<BrowserResponse> {
  try {
    return await workers.ask<BrowserResponse>(FIRST, TOPIC, asked, LIMIT_MS);
  } catch (error) {
    if ((error as PorticoError).code !== "timeout") throw error;
    throw errors.workerSilent({ cause: error });
  }
}

/** In the worker that has the browsers. */
export function answerElsewhere(ctx: PluginContext, targets: Targets): void {
  const answer = ({ request, choice }: Asked) =>
    choice ? targets.routeFor(request, choice) : targets.route(request);
  const workers = ctx.find("workers");
  if (workers) ctx.defer(workers.on(TOPIC, answer));
}
