/**
 * Creates the service `models`, through which HTTP routes, the agent, hooks and other plugins use models with the same
 * routing.
 */
import type { ModelsService } from "portico/models";
import type { Endpoint } from "./access.ts";
import { countTokens } from "./count-tokens.ts";
import { forward } from "./forward.ts";
import { checkModel } from "./model-check.ts";
import { complete, streamChunks, streamParts } from "./internal-requests.ts";
import { openCompletion, openTranslated } from "./client-requests.ts";

export function createModelsService(
  endpoint: Endpoint,
  defaultModel: ModelsService["defaultModel"],
): ModelsService {
  return {
    mask: (value) => endpoint.engine.masks.all().value(value),
    complete: (request, options = {}) => complete(endpoint, request, options),
    parts: (request, options = {}) => streamParts(endpoint, request, options),
    stream: (request, options = {}) => streamChunks(endpoint, request, options),
    open: (call, request, options) => openTranslated(endpoint, call, request, options),
    openCompletion: (call, body, raw) => openCompletion(endpoint, call, body, raw),
    countTokens: (call, request, native) => countTokens(endpoint, call, request, native),
    forward: (call, request) => forward(endpoint, call, request),
    checkModel: (target, options) => checkModel(endpoint, target, options),
    models: endpoint.models,
    defaultModel,
  };
}
