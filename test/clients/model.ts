/** Lets a scripted upstream answer each request by what it asks for. */
import type { SeenRequest, View } from "../support/upstreams/dialect.ts";
import type { FakeProvider, Step } from "../support/upstreams/server.ts";

export function actAsModel(
  up: FakeProvider,
  act: (request: { view: View; seen: SeenRequest }) => Step,
): void {
  // The fake reads `next` right after it has kept the request that it answers.
  Object.defineProperty(up, "next", {
    get: () => act({ view: up.views.at(-1)!, seen: up.seen.at(-1)! }),
  });
}
