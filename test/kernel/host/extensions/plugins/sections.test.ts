import * as assert from "uvu/assert";
import type { PluginCandidate } from "../../../../../kernel/host/extensions/plugins/candidate.ts";
import { createSections } from "../../../../../kernel/host/extensions/plugins/sections.ts";
import type { PluginParts } from "../../../../../kernel/host/extensions/plugins/context.ts";
import { quietLog } from "../../../../support/quiet-log.ts";
import { test } from "../../../../support/suite.ts";

test("a scan that finds every plugin unchanged defines nothing again, whether or not it has sections", () => {
  const definitions: string[] = [];
  const config = {
    define(owner: string) {
      definitions.push(owner);
      return () => void definitions.push(`not ${owner}`);
    },
    check() {},
  } as unknown as PluginParts["config"];
  const sections = createSections({ config, log: quietLog() });
  const plain = {
    dir: "plain",
    name: "plain",
    meta: { name: "plain", setup() {} },
  } as unknown as PluginCandidate;
  const schemas = {
    dir: "own",
    name: "own",
    meta: { name: "own", config: {}, setup() {} },
  } as unknown as PluginCandidate;
  for (const candidates of [[plain, schemas], [plain, schemas], [{ ...plain }]])
    sections.define(candidates);
  assert.equal(definitions, ["plain", "own", "not own"]);
});

test.run();
