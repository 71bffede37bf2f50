/** A client's model name may lead to that model only: keys and prices are judged by the name. */
import { isPorticoError } from "portico";
import type { WireProvider } from "portico/provider";
import { test } from "../support/suite.ts";
import * as assert from "uvu/assert";
import { azure } from "../../plugins/provider-azure/wire.ts";
import { createBedrock } from "../../plugins/provider-bedrock/wire.ts";
import { gemini } from "../../plugins/provider-gemini/wire.ts";
import { makeTarget } from "../support/target.ts";

const ROOT = "https://up.example";
const providers: Record<
  string,
  { wire: WireProvider; options: Record<string, unknown>; below: string }
> = {
  gemini: { wire: gemini, options: {}, below: "/v1beta/" },
  vertex: {
    wire: gemini,
    options: { project: "p" },
    below: "/v1/projects/p/locations/global/publishers/google/models/",
  },
  azure: { wire: azure, options: { apiVersion: "2024-10-21" }, below: "/openai/deployments/" },
  bedrock: {
    wire: createBedrock({ env: { AWS_BEARER_TOKEN_BEDROCK: "t" }, now: () => new Date(0) }),
    options: {},
    below: "/model/",
  },
};
const NAMES = [
  "cheap/../models/dear",
  "models/cheap/../dear",
  "cheap/%2e%2e/dear",
  "..",
  ".",
  "models/..",
  "a/.%2E/b",
  "cheap?x=",
  "cheap#x",
  "cheap\\..\\dear",
  "a//b",
  "\ud800",
  "a\udfffb",
];

for (const [name, { wire, options, below }] of Object.entries(providers)) {
  test(`${name}: no name leads elsewhere`, async () => {
    for (const model of NAMES) {
      const target = makeTarget({ baseUrl: ROOT, model, options });
      const request = { model, messages: [{ role: "user", content: "Hi" }] };
      let url: URL;
      try {
        url = new URL((await wire.encode(request, target)).url);
      } catch (error) {
        assert.ok(
          isPorticoError(error) && error.status === 400 && error.param === "model",
          `${model}: ${error}`,
        );
        continue;
      }
      assert.is(url.hash, "", model);
      const path = decodeURIComponent(url.pathname);
      assert.ok(path.startsWith(below), `${model} became ${path}`);
      // Nothing of the name was folded away, or taken for something else.
      assert.ok(path.includes(model.replace(/^models\//, "")), `${model} became ${path}`);
    }
  });
}

test.run();
