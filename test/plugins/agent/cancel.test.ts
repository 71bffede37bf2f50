/** A cancellation stops a turn in whatever state the turn is. */
import * as assert from "uvu/assert";
import { decideAccess, runTool } from "portico/agent";
import { Type } from "portico";
import { createService } from "../../../plugins/agent/service.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";

test("a turn that starts while its cancellation looks for it is aborted at once", async () => {
  const running = new Set<string>();
  const aborted: string[] = [];
  const items = {
    get: async (id: string) => {
      running.add(id); // a worker takes it at this very moment
      return { id, kind: "turn" };
    },
    cancel: async () => true,
  };
  const abort = (id: string) => {
    if (running.has(id)) aborted.push(id);
    return running.has(id);
  };
  const service = createService(
    { store: () => ({ items }) } as never,
    { worker: { abort }, heartbeat: {}, progress: {} } as never,
  );
  assert.is(await service.cancel("turn_1"), true);
  assert.equal(aborted, ["turn_1"]);
});

test("a tool does not start once its turn has been stopped", async () => {
  let begun = false;
  const tool = {
    name: "t",
    description: "",
    parameters: Type.Object({}),
    handler: async () => {
      begun = true;
    },
  };
  const call = {
    signal: AbortSignal.abort(new Error("stopped")),
    log: quietLog(),
    sessionKey: "s",
    principal: "owner" as const,
    access: decideAccess({ principal: "owner", grant: {}, stateDir: "/nowhere" }),
  };
  const outcome = await runTool(tool, {}, call).catch((error: Error) => error.message);
  assert.equal([outcome, begun], ["stopped", false]);
});

test.run();
