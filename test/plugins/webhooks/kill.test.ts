/**
 * Nothing acknowledged is lost: senders at work, `kill -9` at random moments, again and again. Every acknowledged event
 * and turn must reach its end, each session in order, each request once.
 */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { makeHome, spawnGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { clientOf, numberedRequest, TOKEN } from "./sender.ts";

const mostRounds = Number(process.env["PORTICO_KILL_ROUNDS"] ?? 20);
/** On a busy machine, where each start takes seconds, there are fewer rounds; `PORTICO_KILL_ROUNDS` always counts. */
const patienceMs = process.env["PORTICO_KILL_ROUNDS"] ? Number.POSITIVE_INFINITY : 60_000;
const senders = 6;

interface Acknowledged {
  id: string;
  path: "events" | "turns";
}

/** How often what was acknowledged had to be tried again. */
async function repeatsUntilDone(
  client: ReturnType<typeof clientOf>,
  { id, path }: Acknowledged,
): Promise<number> {
  const state = await until(`${id} to end`, async () => {
    const { body } = await client.status(`/hooks/${path}/${id}`);
    return body.state !== "queued" && body.state !== "running" && body;
  });
  assert.is(state.state, "done", JSON.stringify(state));
  return Math.max(0, state.attempts - 1);
}

function throwUnlessBroken(outcome: PromiseSettledResult<void>): void {
  if (outcome.status === "rejected" && !isBrokenConnection(outcome.reason)) throw outcome.reason;
}

test("no acknowledged request is lost over kills", async () => {
  const began = performance.now();
  let rounds = 0;
  const home = makeHome("portico-kill-");
  const config = {
    agents: { defaults: { model: "echo", heartbeat: { every: "0", cooldownMs: 50 } } },
    webhooks: { token: TOKEN, rateLimit: { maxRequests: 1_000_000, windowMs: 60_000 } },
  };
  const acknowledged: Acknowledged[] = [];
  /** The number of the next request of each sender: one that was not answered is sent again after the crash. */
  const next = Array.from({ length: senders }, () => 1);
  let url = "";
  const client = clientOf(() => url);

  async function work(sender: number, stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      const n = next[sender] as number;
      const response = await client.send(...numberedRequest(sender, n));
      assert.is(response.status, 200, response.text);
      const { turnId, eventId } = response.body;
      acknowledged.push(turnId ? { id: turnId, path: "turns" } : { id: eventId, path: "events" });
      next[sender] = n + 1;
    }
  }

  for (; rounds < mostRounds && performance.now() - began < patienceMs; rounds++) {
    const gateway = await spawnGateway(rounds === 0 ? { home, config } : { home });
    url = gateway.url;
    let over = false;
    const working = Array.from({ length: senders }, (_, sender) => work(sender, () => over));
    const ended = Promise.allSettled(working);
    // At any moment, also soon after the start; every other time only when something was accepted.
    const before = acknowledged.length;
    if (rounds % 2 === 0)
      await until("some to be accepted", () => acknowledged.length >= before + 3);
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 200));
    await gateway.kill("SIGKILL");
    over = true;
    for (const outcome of await ended) throwUnlessBroken(outcome);
  }

  const gateway = await spawnGateway({ home });
  url = gateway.url;
  try {
    assert.ok(acknowledged.length > rounds, `${acknowledged.length} acknowledged`);
    let repeats = 0;
    for (const each of acknowledged) repeats += await repeatsUntilDone(client, each);
    let requests = 0;
    for (let sender = 0; sender < senders; sender += 2) {
      const numbers = await wordsOf(gateway, `kill:${sender}`, /^number (\d+)\.$/);
      const done = (next[sender] as number) - 1;
      // the last request of all may have been accepted without its answer being seen
      assert.ok(
        numbers.length === done || numbers.length === done + 1,
        `${sender}: ${numbers.length} of ${done}`,
      );
      assert.equal(
        numbers,
        Array.from(numbers, (_, i) => String(i + 1)),
        `session ${sender} in order, each once`,
      );
      requests += numbers.length;
    }
    for (let sender = 1; sender < senders; sender += 2) {
      const events = await wordsOf(gateway, "main", new RegExp(`event ${sender}\\.(\\d+)\\.`, "g"));
      const wanted = Array.from({ length: (next[sender] as number) - 1 }, (_, i) => String(i + 1));
      assert.equal(
        events.slice(0, wanted.length),
        wanted,
        `events of ${sender} in order, each once`,
      );
      requests += events.length;
    }
    console.log(
      `  ${rounds} kills, ${acknowledged.length} acknowledged, ${requests} done, ${repeats} attempts repeated`,
    );
  } finally {
    await gateway.stop();
  }
});

/** What a kill does to a request: no connection, or one that ends within the answer's head or its body. */
function isBrokenConnection(reason: unknown): boolean {
  return reason instanceof TypeError && ["fetch failed", "terminated"].includes(reason.message);
}

/** What a pattern finds in the user messages of a session. */
async function wordsOf(
  gateway: { json<T>(method: string, path: string): Promise<T> },
  session: string,
  pattern: RegExp,
): Promise<string[]> {
  const { messages } = await gateway.json<{ messages: { role: string; content: string }[] }>(
    "GET",
    `/sessions/${encodeURIComponent(session)}`,
  );
  const all = new RegExp(pattern.source, "gm");
  return messages
    .filter(({ role }) => role === "user")
    .flatMap(({ content }) => [...content.matchAll(all)].map((match) => match[1] as string));
}

test.run();
