/** Another process on this machine resumes the turns of a killed gateway at once, whatever is left of the process. */
import { join } from "node:path";
import * as assert from "uvu/assert";
import { connect } from "../../../plugins/store/sqlite/connection.ts";
import { porticoProgram } from "../../support/runner/bundle.ts";
import { makeHome, type SpawnedGateway, spawnGateway } from "../../support/gateway.ts";
import { startUnreaped, type Unreaped } from "../../support/machine/unreaped.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import {
  completion,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("abrupt ends of a gateway");
let up: Upstream;
let isHeld = true;
let sessions = 0;
const started: { gateways: SpawnedGateway[]; unreaped: Unreaped[] } = {
  gateways: [],
  unreaped: [],
};

test.before(async () => {
  up = await startUpstream((_, res) => void (isHeld || json(res, completion("taken up"))));
});
test.before.each(() => {
  isHeld = true;
  up.seen.length = 0;
});
test.after(async () => {
  for (const each of started.unreaped) each.release();
  for (const gateway of started.gateways) await gateway.kill("SIGKILL");
  await up?.close();
});

/** Without options as it was started before. */
async function start(
  home: string,
  options?: { store?: string; apiKey?: string },
): Promise<SpawnedGateway> {
  const { store, apiKey = "key-of-the-test" } = options ?? {};
  const config = options && {
    channels: { up: { provider: "openai", baseUrl: up.url, apiKey, models: ["m"] } },
    agents: { defaults: { model: "up/m" } },
    store: store === undefined ? {} : { url: `file:${store}` },
  };
  const gateway = await spawnGateway({ home, config });
  started.gateways.push(gateway);
  return gateway;
}

/** In a session of its own, so that it waits for no other. */
async function runningTurn(gateway: SpawnedGateway): Promise<string> {
  const before = up.seen.length;
  const { turnId } = await gateway.json("POST", "/agent", {
    message: "x",
    session: `s${++sessions}`,
  });
  await until("the model to be asked", () => up.seen.length > before);
  return turnId;
}

/** Kills a gateway in its turn, whose lease is then as long as that nobody takes the turn up because it has ended. */
async function killWithLongLease(kill: () => unknown, store: string): Promise<void> {
  await kill();
  const connection = await connect(store);
  const longer =
    "UPDATE lanes SET lease_until = lease_until + 1e9, ready_at = ready_at + 1e9 WHERE worker IS NOT NULL";
  // A neighbour may be writing.
  await until("its turn to write", () => connection.once(longer) !== undefined);
  connection.close();
}

async function takenUp(gateway: SpawnedGateway, turnId: string): Promise<void> {
  const turn = await until("the turn to be taken up", async () => {
    const now = await gateway.json("GET", `/turns/${turnId}`);
    return now.state === "done" && now;
  });
  assert.equal([turn.result, turn.attempts], ["taken up", 2]);
}

test("the next start takes over a turn although the killed process is still a zombie", async () => {
  const home = makeHome();
  // made once, for its token; then under a parent that never asks how it ended
  const first = await start(home, {});
  await first.kill("SIGTERM");
  const command = [process.execPath, ...porticoProgram(), "start", "--home", home];
  const unreaped = await startUnreaped(command);
  started.unreaped.push(unreaped);
  let output = "";
  unreaped.parent.stderr?.on("data", (text) => {
    output += text;
  });
  const url = await until("its address", () => /Base URL\s+(\S+)\/v1/.exec(output)?.[1]);
  const before = up.seen.length;
  const response = await fetch(`${url}/agent`, {
    method: "POST",
    headers: { authorization: `Bearer ${first.token}`, "content-type": "application/json" },
    body: JSON.stringify({ message: "x" }),
  });
  const { turnId } = (await response.json()) as { turnId: string };
  await until("the model to be asked", () => up.seen.length > before);
  await killWithLongLease(() => unreaped.kill(), join(home, "state/portico.db"));
  isHeld = false;
  const next = await start(home);
  await takenUp(next, turnId);
  await next.kill("SIGTERM");
});

test("another gateway on the same store takes over a turn although it has already checked often", async () => {
  const store = join(makeHome(), "shared.db");
  const neighbour = await start(makeHome(), { store, apiKey: "key-of-the-neighbour" });
  const home = makeHome();
  for (const options of [{ store }, undefined]) {
    isHeld = true;
    const gateway = await start(home, options);
    let turnId = await runningTurn(gateway);
    // the neighbour may have been first, as it has a right to
    while (String(up.seen.at(-1)?.headers.authorization).includes("neighbour"))
      turnId = await runningTurn(gateway);
    isHeld = false;
    await killWithLongLease(() => gateway.kill("SIGKILL"), store);
    await takenUp(neighbour, turnId);
  }
  await neighbour.kill("SIGTERM");
});

test.run();
