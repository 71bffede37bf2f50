/**
 * Lets the workers of a gateway share browsers: they belong to one worker, and the others send their requests to it.
 */
import type { PluginContext, PorticoError, Workers } from "portico";
import { errors } from "./errors.ts";
import type { TargetChoice, Targets } from "./targets/targets.ts";
import { addTool } from "./tool.ts";
import type { BrowserRequest, BrowserResponse } from "./types.ts";

const FIRST_WORKER = 0;
const TOPIC = "browser";
/** Each route has its own limit below this one. */
const LIMIT_MS = 700_000;

interface WorkerRequest {
  request: BrowserRequest;
  choice?: TargetChoice;
}

/**
 * Registers the service and the tool in a worker without browsers, so that both use the first worker. Returns false in
 * the worker that has the browsers.
 */
export function delegateToFirstWorker(ctx: PluginContext): boolean {
  const workers = ctx.find("workers");
  if (!workers || workers.index === FIRST_WORKER) return false;
  const send = (request: WorkerRequest) => requestFirstWorker(workers, request);
  const targets: Targets = {
    route: (request) => send({ request }),
    routeFor: (request, choice) => send({ request, choice }),
  };
  ctx.provide("browser", targetsAsService(targets));
  addTool(ctx, targets);
  return true;
}

const targetsAsService = ({ route }: Targets) => ({ request: route });

async function requestFirstWorker(
  workers: Workers,
  request: WorkerRequest,
): Promise<BrowserResponse> {
  try {
    return await workers.ask<BrowserResponse>(FIRST_WORKER, TOPIC, request, LIMIT_MS);
  } catch (error) {
    if ((error as PorticoError).code !== "timeout") throw error;
    throw errors.workerSilent({ cause: error });
  }
}

/** Handles the requests of the other workers, in the worker that has the browsers. */
export function serveOtherWorkers(ctx: PluginContext, targets: Targets): void {
  const handle = ({ request, choice }: WorkerRequest) =>
    choice ? targets.routeFor(request, choice) : targets.route(request);
  const workers = ctx.find("workers");
  if (workers) ctx.defer(workers.on(TOPIC, handle));
}
