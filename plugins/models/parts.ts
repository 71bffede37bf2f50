/** The modules that `setup` uses, in one file of the build: a start loads it faster than one file per module. */
export { createEngine } from "./engine.ts";
export { mountRoutes } from "./routes.ts";
export { channelNotices, describeChannels, offerChannels, targetsOf } from "./channel-routes.ts";
export { defaultModel } from "./routing/default-model.ts";
export { listModels } from "./routing/models.ts";
export { createModelsService } from "./serving/service.ts";
export { offerRuns, runsEverywhere } from "./upstream/run-counts.ts";
