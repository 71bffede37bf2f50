/** Credentials against those of the owner, and how often a stranger may try: with settings and a clock of the test. */
import { type Access, createThrottle } from "portico";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import type { AuthSettings } from "../../../../kernel/http/access/auth.ts";
import { ask, codeOf } from "../../../support/raw-http.ts";
import { closeAll, startServer, type TestServerOptions } from "../harness.ts";

test.after(closeAll);

async function doors(options: TestServerOptions = {}) {
  // Most tests refuse more often than a minute allows.
  const server = await startServer({ throttle: createThrottle({ limit: 1000 }), ...options });
  for (const access of ["gateway", "client", "control", "public", "own"] as Access[]) {
    server.server.route("GET", `/${access}`, { access }, (call) => call.client);
  }
  return server;
}

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

test("every combination of credential and access level has its expected status", async () => {
  const both = { token: "right-token", password: "right-password" };
  const rows: [AuthSettings, Record<string, string>, Partial<Record<Access, number>>][] = [
    [both, {}, { gateway: 401, client: 401, control: 401, public: 200, own: 200 }],
    [both, { authorization: "Bearer right-token" }, { gateway: 200, client: 200, control: 200 }],
    [both, { authorization: "bearer right-token" }, { gateway: 200, client: 200, control: 200 }],
    [
      both,
      { authorization: "Bearer wrong" },
      { gateway: 401, client: 401, control: 401, public: 200 },
    ],
    [both, { authorization: "Bearer right-token2" }, { gateway: 401 }],
    [both, { authorization: "Bearer right-toke" }, { gateway: 401 }],
    [both, { authorization: "Bearer RIGHT-TOKEN" }, { gateway: 401 }],
    [both, { authorization: "Bearer" }, { gateway: 401 }],
    [both, { authorization: "Bearer " }, { gateway: 401 }],
    [both, { authorization: "right-token" }, { gateway: 401 }],
    [both, { authorization: "Token right-token" }, { gateway: 401 }],
    [both, { authorization: "Bearer  right-token" }, { gateway: 401, control: 401 }],
    [both, { authorization: "Bearer\tright-token" }, { gateway: 401, control: 401 }],
    [both, { authorization: "Bearer right-token, Bearer right-token" }, { gateway: 401 }],
    [both, { authorization: `Bearer ${"x".repeat(10_000)}` }, { gateway: 401 }],
    [both, { authorization: "Bearer right-password" }, { gateway: 401, client: 401, control: 401 }],
    [both, { "x-service-password": "right-password" }, { gateway: 401, client: 401, control: 200 }],
    [both, { "x-service-password": "wrong" }, { control: 401 }],
    [
      both,
      { authorization: "Bearer wrong", "x-service-password": "right-password" },
      { gateway: 401, control: 200 },
    ],
    [
      both,
      { authorization: basic("a:wrong"), "x-service-password": "right-password" },
      { control: 200 },
    ],
    [
      both,
      { authorization: "Bearer right-token", "x-service-password": "wrong" },
      { control: 200 },
    ],
    [both, { authorization: "Bearer wrong", "x-service-password": "wrong" }, { control: 401 }],
    [both, { "x-service-password": "right-token" }, { control: 401 }],
    [
      both,
      { authorization: basic("anyone:right-password") },
      { gateway: 401, client: 401, control: 200 },
    ],
    [both, { authorization: basic(":right-password") }, { control: 200 }],
    [both, { authorization: basic("right-password") }, { control: 401 }],
    [both, { authorization: basic("a:wrong") }, { control: 401 }],
    [both, { authorization: "Basic !!!" }, { control: 401 }],
    [both, { authorization: basic("a:right-token") }, { control: 401 }],
    [{ token: "right-token" }, { "x-service-password": "" }, { control: 401 }],
    [{ token: "right-token" }, { authorization: basic("a:") }, { control: 401 }],
    [{ token: "right-token" }, { "x-service-password": "undefined" }, { control: 401 }],
    [
      { password: "right-password" },
      { authorization: "Bearer right-password" },
      { gateway: 200, client: 200, control: 200 },
    ],
    [{ password: "a:b c" }, { authorization: basic("me:a:b c") }, { control: 200 }],
    [{ password: "pässwörd" }, { authorization: basic("me:pässwörd") }, { control: 200 }],
    ...["pässwörd", "à-la-carte", "日本の合言葉", "🔑-and-key"].flatMap((word): typeof rows => {
      // curl sends it as UTF-8.
      return [
        [
          { token: word },
          { authorization: `Bearer ${word}` },
          { gateway: 200, client: 200, control: 200 },
        ],
        [{ token: word }, { "x-api-key": word }, { client: 200 }],
        [
          { password: word },
          { authorization: `Bearer ${word}` },
          { gateway: 200, client: 200, control: 200 },
        ],
        [{ password: word }, { "x-service-password": word }, { control: 200 }],
        [{ password: word }, { authorization: basic(`me:${word}`) }, { control: 200 }],
        [
          { token: word },
          { authorization: `Bearer ${word}ö` },
          { gateway: 401, client: 401, control: 401 },
        ],
        [{ password: word }, { "x-service-password": `${word}ö` }, { control: 401 }],
      ];
    }),
    [{}, { authorization: "Bearer " }, { gateway: 401, control: 401 }],
    [{}, { authorization: "Bearer undefined" }, { gateway: 401, control: 401 }],
    [
      { token: "", password: "" },
      { authorization: "Bearer x", "x-service-password": "" },
      { gateway: 401, control: 401 },
    ],
    [both, { "x-api-key": "right-token" }, { client: 200, gateway: 401, control: 401 }],
    [both, { "x-api-key": "wrong" }, { client: 401 }],
    [both, { "x-api-key": "right-token x" }, { client: 401 }],
    [both, { "x-api-key": "right-token", authorization: "Bearer wrong" }, { client: 401 }],
    [{ token: "right-token" }, { "x-api-key": "" }, { client: 401 }],
    [{ token: "x".repeat(300) }, { authorization: `Bearer ${"x".repeat(300)}` }, { gateway: 200 }],
    [{ token: "x".repeat(300) }, { authorization: `Bearer ${"x".repeat(299)}` }, { gateway: 401 }],
  ];
  const server = await doors();
  for (const [settings, headers, expected] of rows) {
    server.credentials.token = settings.token;
    server.credentials.password = settings.password;
    for (const [access, status] of Object.entries(expected)) {
      const response = await ask(server, "GET", `/${access}`, headers);
      const description = `${JSON.stringify(settings)} ${JSON.stringify(headers).slice(0, 80)} ${access}`;
      assert.is(response.status, status, description);
      if (status !== 401) continue;
      assert.is(codeOf(response), "unauthorized", description);
      const challenge = response.headers["www-authenticate"] ?? "";
      assert.match(challenge, 'Bearer realm="portico"');
      assert.is(challenge.includes("Basic"), access === "control", description);
    }
  }
});

test("repeated failures from one address receive 429 with Retry-After, but a valid token always passes", async () => {
  let time = 0;
  const server = await doors({ throttle: createThrottle({ now: () => time }) });
  const wrong = { authorization: "Bearer wrong" };
  for (let i = 0; i < 20; i++)
    assert.is((await ask(server, "GET", "/gateway", wrong)).status, 401, `failure ${i + 1}`);
  const throttled = await ask(server, "GET", "/gateway", wrong);
  assert.is(throttled.status, 429);
  assert.is(codeOf(throttled), "too_many_attempts");
  assert.is(throttled.headers["retry-after"], "60");
  assert.is(
    (await ask(server, "GET", "/gateway", { authorization: "Bearer right-token" })).status,
    200,
  );
  assert.is(
    (await ask(server, "GET", "/control", { "x-service-password": "right-password" })).status,
    200,
  );
  assert.is(
    (await ask(server, "GET", "/gateway")).status,
    401,
    "a request without credentials tries nothing",
  );
  time = 60_001;
  assert.is((await ask(server, "GET", "/gateway", wrong)).status, 401);
});

test("failures are counted by the address behind a trusted proxy, and X-Forwarded-For of strangers is ignored", async () => {
  const server = await doors({ throttle: createThrottle({ limit: 2 }) });
  const from = (address: string) => ({ authorization: "Bearer wrong", "x-forwarded-for": address });
  const statuses = async (...addresses: string[]) => {
    const all: number[] = [];
    for (const address of addresses)
      all.push((await ask(server, "GET", "/gateway", from(address))).status);
    return all;
  };
  assert.equal(await statuses("192.0.2.1", "192.0.2.2", "192.0.2.3"), [401, 401, 429]);
  server.settings.trustedProxies = ["127.0.0.0/8"];
  assert.equal(
    await statuses("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"),
    [401, 401, 429, 401],
  );
});

test("failures that other processes counted reduce the remaining attempts, but never below zero", () => {
  const throttle = createThrottle({ limit: 2 });
  for (let i = 0; i < 4; i++) throttle.note("192.0.2.1");
  assert.is(throttle.look("192.0.2.1").remaining, 0);
  assert.is(throttle.fail("192.0.2.1")?.code, "too_many_attempts");
});

test.run();
