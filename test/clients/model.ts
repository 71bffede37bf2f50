/** Makes a fake upstream compute its answer from each request. */
import type { SeenRequest, View } from "../support/upstreams/dialect.ts";
import type { FakeProvider, Step } from "../support/upstreams/server.ts";

export function actAsModel(
  up: FakeProvider,
  act: (request: { view: View; seen: SeenRequest }) => Step,
): void {
  // The fake reads `next` directly after it has stored the request.
  Object.defineProperty(up, "next", {
    get: () => act({ view: up.views.at(-1)!, seen: up.seen.at(-1)! }),
  });
}
