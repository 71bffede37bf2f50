/** Names and texts that nobody should trust. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { hasSubstance, isSilent } from "../../../plugins/agent/turns/checklist.ts";
import { cleanSessionName } from "../../../plugins/agent/session-name.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { assertLinear } from "../../support/growth.ts";
import { suite } from "../../support/suite.ts";

const test = suite("untrusted input of the agent");
let g: InProcessGateway;
test.before(async () => {
  g = await startGateway();
});
test.after(() => g.stop());

const UNSEEN = [
  "\u001b[31mred",
  "a\nb",
  "a\u0000b",
  "a\u009bb",
  "\u202eevil",
  "a\u2028b",
  "\ufeffa",
  "zero\u200bwidth",
];

for (const session of UNSEEN) {
  test(`a session named ${JSON.stringify(session)} is refused where a caller names it`, async () => {
    const response = await g.request("POST", "/agent", { message: "x", session });
    assert.is(response.status, 400);
    const { error } = (await response.json()) as { error: { message: string; param?: string } };
    assert.match(error.message, /session must be a name without control characters/);
  });
  test(`a session name ${JSON.stringify(session)} from a payload or a chat client is sanitized`, async () => {
    const service = g.gateway.use("agent");
    const { sessionId } = await service.startTurn({
      message: "x",
      source: "webhook",
      session: `s-${session}`,
    });
    assert.is(sessionId, cleanSessionName(`s-${session}`));
    assert.match(sessionId, /^s-[ -~]+$/);
    const messages = [{ role: "user", content: "x" }];
    await g.json("POST", "/v1/chat/completions", { model: "agent", user: session, messages });
    const { sessions } = await g.json<{ sessions: { id: string }[] }>(
      "GET",
      "/sessions?limit=1000",
    );
    for (const { id } of sessions) assert.match(id, /^[ -~]+$/);
  });
}

test("a name that consists only of invisible characters is refused", () => {
  assert.throws(
    () => cleanSessionName("\u001b\u0007\u200b"),
    (error: { code?: string }) => error.code === "invalid_request_error",
  );
});

for (const status of [400, 401, 403, 500]) {
  test(`a key that an upstream echoes with ${status} appears in no turn, session, event or log`, async () => {
    const key = `sk-echoed-${status}-0123456789abcdef`;
    const upstream = createServer((req, res) => {
      res.writeHead(status, { "content-type": "application/json" });
      res.end(
        JSON.stringify({ error: { message: `What is ${req.headers.authorization} good for?` } }),
      );
    }).listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const { port } = upstream.address() as AddressInfo;
    const main = {
      provider: "openai",
      baseUrl: `http://127.0.0.1:${port}/v1`,
      apiKey: key,
      models: ["m"],
      maxRetries: 0,
    };
    const home = await startGateway({
      config: { channels: { main }, agents: { defaults: { maxAttempts: 1 } } },
    });
    const events: unknown[] = [];
    const undo = home.gateway.bus.onAny((event) => events.push(event.context));
    await home.request("POST", "/agent", { message: "x", session: "s", wait: true });
    const chat = { model: "agent", messages: [{ role: "user", content: "x" }] };
    const response = await home.request("POST", "/v1/chat/completions", chat);
    const shown = [
      await response.text(),
      await home.json("GET", "/turns"),
      await home.json("GET", "/sessions/s"),
      events,
      home.lines,
    ];
    assert.match(JSON.stringify(shown[1]), /good for/);
    assert.not(JSON.stringify(shown).includes(key));
    await undo();
    await home.stop();
    upstream.close();
  });
}

for (const [what, make, work] of [
  ["comments that are never closed", (n: number) => "<!--".repeat(n / 4), hasSubstance],
  ["comments that are closed", (n: number) => "<!-- -->".repeat(n / 8), hasSubstance],
  ["blank lines", (n: number) => " \n".repeat(n / 2), hasSubstance],
  ["exclamation marks before the end", (n: number) => `${"!".repeat(n)}x`, isSilent],
  ["marks of Markdown", (n: number) => "*_ ".repeat(n / 3), isSilent],
] as const) {
  test(`${what}: the time grows at most linearly with the text`, () => {
    assertLinear<string>(what, 10_000, make, work);
  });
}

test("POST /agent refuses an unknown member and suggests the nearest one", async () => {
  const url = "http://127.0.0.1:1/";
  for (const [more, param, nearest] of [
    [{ wiat: true }, "wiat", "wait"],
    [{ sessions: "main" }, "sessions", "session"],
    [{ delivery: { url, secert: "x" } }, "delivery.secert", "delivery.secret"],
  ] as const) {
    const refused = await g.request("POST", "/agent", { message: "Hi", model: "echo", ...more });
    const { error } = (await refused.json()) as { error: Record<string, string> };
    assert.equal([refused.status, error["param"]], [400, param]);
    assert.match(error["message"] ?? "", `did you mean ${nearest}?`);
  }
  const { turns } = await g.json("GET", "/turns?session=main");
  assert.equal(turns, [], "no turn was started");
});

test("a checklist of headings and comments counts as empty, and HEARTBEAT_OK is recognized in all its forms", () => {
  assert.equal(["# Title\n\n", "<!-- - x -->\n# T", " \n\t"].map(hasSubstance), [
    false,
    false,
    false,
  ]);
  assert.equal(["- x", "<!-- a --> - x", "<!-- never closed"].map(hasSubstance), [
    true,
    true,
    true,
  ]);
  assert.equal(["HEARTBEAT_OK", "**HEARTBEAT_OK**.", "All is well. HEARTBEAT_OK!"].map(isSilent), [
    true,
    true,
    true,
  ]);
  assert.equal(["Look at this", `HEARTBEAT_OK ${"x".repeat(400)}`].map(isSilent), [false, false]);
});

test.run();
