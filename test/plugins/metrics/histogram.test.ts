import * as assert from "uvu/assert";
import { createHistogram, observe, toSamples } from "../../../plugins/metrics/histogram.ts";
import { sameShape } from "../../support/machine/same-shape.ts";
import { suite } from "../../support/suite.ts";

const test = suite("histograms");

// What the code of every request has in a cache: otherwise it is compiled again and again.
test("a histogram keeps its object shape when it counts, and reports 0 before", () => {
  const [fresh, used] = [createHistogram(), createHistogram()];
  observe(used, 0.5);
  assert.ok(sameShape(fresh, used));
  assert.is(String(toSamples(fresh, {}).find(({ suffix }) => suffix === "_sum")?.value), "0");
});

test.run();
