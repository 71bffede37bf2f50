/** `GET /events`: ids, and what a client that was away receives. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

interface FeedEvent {
  id: string | undefined;
  name: string;
  data: { context?: { content?: string }; lost?: number | null };
}

const test = suite<{ gateway: InProcessGateway }>("event feed");
test.before(async (context) => {
  context.gateway = await startGateway();
});
test.after(({ gateway }) => gateway.stop());

/** Follows the feed; `events` grows as they arrive. */
async function follow(gateway: InProcessGateway, lastEventId?: string, query = "?name=message:*") {
  const controller = new AbortController();
  const response = await gateway.request("GET", `/events${query}`, undefined, {
    signal: controller.signal,
    headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
  });
  const events: FeedEvent[] = [];
  const reading = (async () => {
    let text = "";
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString("utf8");
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      events.push(...blocks.flatMap(parseBlock));
    }
  })().catch(() => {});
  return {
    events,
    contents: () =>
      events
        .filter(({ name }) => name === "message:received")
        .map(({ data }) => data.context?.content),
    async stop() {
      controller.abort();
      await reading;
    },
  };
}

function parseBlock(block: string): FeedEvent[] {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
  const data = field("data");
  return data === undefined
    ? []
    : [{ id: field("id"), name: field("event") ?? "", data: JSON.parse(data) }];
}

const say = (gateway: InProcessGateway, content: string) =>
  gateway.json("POST", "/v1/chat/completions", {
    model: "echo",
    messages: [{ role: "user", content }],
  });

test("missed events are delivered after Last-Event-ID, once each and in order", async ({
  gateway,
}) => {
  const first = await follow(gateway);
  await say(gateway, "one");
  await until("the event", () => first.contents().includes("one"));
  await first.stop();
  const lastId = first.events.at(-1)?.id;
  assert.ok(lastId, "events have ids");
  assert.is(new Set(first.events.map(({ id }) => id)).size, first.events.length);
  await say(gateway, "two");
  await say(gateway, "three");
  for (const query of ["?name=message:*", `?name=message:*&lastEventId=${lastId}`]) {
    const header = query.includes("lastEventId") ? undefined : lastId;
    const again = await follow(gateway, header, query);
    await say(gateway, "four");
    await until("the live event", () => again.contents().includes("four"));
    assert.equal(again.contents().slice(0, 2), ["two", "three"]);
    assert.not(again.events.some(({ name }) => name === "gap"));
    await again.stop();
  }
});

test("a client that missed nothing receives nothing twice", async ({ gateway }) => {
  const first = await follow(gateway);
  await say(gateway, "alone");
  await until("the event", () => first.events.some(({ name }) => name === "message:sent"));
  await first.stop();
  const again = await follow(gateway, first.events.at(-1)?.id);
  await say(gateway, "next");
  await until("the live event", () => again.contents().includes("next"));
  assert.equal(again.contents(), ["next"]);
  await again.stop();
});

test("an id of another process or an unknown id produces a gap event before all stored events", async ({
  gateway,
}) => {
  for (const id of ["0", "000000000000-5", "nonsense", "-", "1-2-3"]) {
    const feed = await follow(gateway, id);
    await until("the gap", () => feed.events[0]?.name === "gap");
    assert.is(feed.events[0]?.data.lost, null);
    await feed.stop();
  }
});

test("if a client missed more events than are stored, the gap event has their number", async ({
  gateway,
}) => {
  const first = await follow(gateway);
  await say(gateway, "before");
  await until("the event", () => first.contents().includes("before"));
  await first.stop();
  const lastId = first.events.at(-1)?.id;
  const texts = Array.from({ length: 600 }, (_, index) => `many ${index}`);
  for (const text of texts) await say(gateway, text);
  const again = await follow(gateway, lastId);
  await until("all that is kept", () => again.contents().includes("many 599"));
  const [gap] = again.events;
  assert.is(gap?.name, "gap");
  assert.ok((gap?.data.lost ?? 0) > 0);
  assert.not(again.contents().includes("many 0"));
  await again.stop();
});

test.run();
