/** The engine's own routes: models, embeddings, channels and providers. */
import {
  describeEverywhere,
  describeProvider,
  testChannel,
  updateBudgets,
} from "./channel-routes.ts";
import type { Listings } from "./routing/models.ts";
import { modelRoutes, openaiError } from "./routes-schema.ts";
import type { EngineContext } from "./schema.ts";
import type { Endpoint } from "./serving/access.ts";
import { embeddings } from "./serving/embeddings.ts";
import { modelDetails, modelList } from "./serving/model-routes.ts";
import { openaiForm } from "./serving/openai-form.ts";

export function mountRoutes(ctx: EngineContext, endpoint: Endpoint, listings: Listings): void {
  const { engine, workers } = endpoint;
  ctx.errors("/v1", openaiForm, { isBase: true, schema: openaiError });
  ctx.route("POST", "/v1/embeddings", modelRoutes.embeddings, (call) => embeddings(endpoint, call));
  ctx.route("GET", "/v1/models", modelRoutes.models, (call) => modelList(endpoint, call));
  ctx.route("GET", "/v1/models/*", modelRoutes.model, (call) => modelDetails(endpoint, call));
  ctx.route("GET", "/channels", modelRoutes.channels, async () => {
    await updateBudgets(engine);
    return describeEverywhere(engine, workers);
  });
  ctx.route("POST", "/channels/:name/test", modelRoutes.testChannel, (call) =>
    testChannel(engine, listings, call),
  );
  ctx.route("GET", "/providers", modelRoutes.providers, () => ({
    providers: ctx.list("provider").map(describeProvider),
  }));
}
