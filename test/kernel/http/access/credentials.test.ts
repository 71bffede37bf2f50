/** The callers that a route admits, and what its handler knows of them. */
import { connect } from "node:net";
import * as assert from "uvu/assert";
import { type Access, type Authenticator, type Client, PorticoError } from "portico";
import { ask, codeOf, exchange, head } from "../../../support/raw-http.ts";
import { startRoutes, stopRoutes } from "../../../support/routes.ts";
import { suite } from "../../../support/suite.ts";
import { waitForText } from "../../../support/until.ts";

const test = suite("credentials of routes");
test.after(stopRoutes);

async function doors() {
  const gateway = await startRoutes();
  const clients: Client[] = [];
  for (const access of ["gateway", "client", "control", "public", "own"] as Access[]) {
    gateway.route("GET", `/${access}`, { access }, (call) => {
      clients.push(call.client);
      return call.client;
    });
  }
  return Object.assign(gateway, { seen: clients });
}

test("the handler knows the authenticated caller", async () => {
  const gateway = await doors();
  await ask(gateway, "GET", "/gateway", { authorization: "Bearer right-token" });
  await ask(gateway, "GET", "/public", { authorization: "Bearer right-token" });
  assert.equal(
    gateway.seen.map(({ kind }) => kind),
    ["owner", "anonymous"],
  );
});

test("a changed token applies at once", async () => {
  const gateway = await doors();
  await gateway.plugin.use("host").config.set("gateway.auth.token", "new-token");
  assert.is(
    (await ask(gateway, "GET", "/gateway", { authorization: "Bearer right-token" })).status,
    401,
  );
  assert.is(
    (await ask(gateway, "GET", "/gateway", { authorization: "Bearer new-token" })).status,
    200,
  );
});

test("two Authorization headers are refused, whatever their values", async () => {
  const { port } = await doors();
  const right: [string, string] = ["Authorization", "Bearer right-token"];
  for (const second of [right, ["authorization", "Bearer wrong"]] as [string, string][]) {
    const response = await exchange(
      port,
      head("GET", "/gateway", [["host", `127.0.0.1:${port}`], right, second]),
    );
    assert.is(response.status, 401);
  }
});

test("the body of a refused request is never read", async () => {
  const gateway = await startRoutes();
  let read = false;
  gateway.route("POST", "/item", { access: "gateway" }, async (call) => {
    read = true;
    return call.json();
  });
  // Only the head is sent: a response shows that nothing waited for the body.
  const request = `POST /item HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\ncontent-length: 1000000\r\n\r\n`;
  const socket = connect(gateway.port, "127.0.0.1", () => socket.write(request));
  await waitForText(socket, /^HTTP\/1.1 401 /);
  socket.destroy();
  assert.is(read, false);
});

test("client keys are tried if the owner's token does not match, and are valid for `keys` routes only", async () => {
  const tokens: string[] = [];
  const authenticator: Authenticator = {
    name: "test-keys",
    async authenticate(token) {
      tokens.push(token);
      if (token === "expired") throw new PorticoError("forbidden", "This key has expired.");
      return token === "key-1"
        ? { kind: "key", key: "one", grant: { models: ["echo"] } }
        : undefined;
    },
  };
  const gateway = await doors();
  gateway.plugin.add("authenticator", authenticator);
  const as = (token: string, access: Access) =>
    ask(gateway, "GET", `/${access}`, { authorization: `Bearer ${token}` });

  assert.is((await as("right-token", "client")).status, 200);
  assert.equal(tokens, [], "the owner's token is nobody else's business");
  assert.is((await as("key-1", "client")).status, 200);
  assert.equal(gateway.seen.at(-1), { kind: "key", key: "one", grant: { models: ["echo"] } });
  for (const access of ["gateway", "control"] as const) {
    const response = await as("key-1", access);
    assert.is(response.status, 403);
    assert.is(codeOf(response), "forbidden");
  }
  assert.is((await as("unknown", "client")).status, 401);
  assert.is((await as("expired", "client")).status, 403);
});

test("a broken authenticator harms neither the others nor the owner", async () => {
  const broken: Authenticator = {
    name: "broken",
    authenticate() {
      throw new TypeError("cannot read properties of undefined");
    },
  };
  const good: Authenticator = {
    name: "good",
    authenticate: (token) => (token === "k" ? { kind: "key" } : undefined),
  };
  const gateway = await doors();
  for (const authenticator of [broken, good]) gateway.plugin.add("authenticator", authenticator);
  assert.is((await ask(gateway, "GET", "/client", { authorization: "Bearer k" })).status, 200);
  assert.is(
    (await ask(gateway, "GET", "/client", { authorization: "Bearer right-token" })).status,
    200,
  );
  assert.is((await ask(gateway, "GET", "/client", { authorization: "Bearer other" })).status, 503);
  assert.ok(
    gateway.lines.some(
      ({ level, fields }) => level === "error" && fields["authenticator"] === "broken",
    ),
  );
});

test("no credential reaches a log line or a response", async () => {
  const gateway = await doors();
  const secrets = ["sekret-1", "sekret-2", "sekret-3"];
  const answers = await Promise.all([
    ask(gateway, "GET", "/control?token=sekret-1", { authorization: "Bearer sekret-1" }),
    ask(gateway, "GET", "/control", { "x-service-password": "sekret-2" }),
    ask(gateway, "GET", "/control", {
      authorization: `Basic ${Buffer.from("me:sekret-3").toString("base64")}`,
    }),
  ]);
  const text = JSON.stringify([answers, gateway.lines]);
  for (const secret of secrets) assert.not.match(text, secret);
  assert.not.match(text, "right-token");
});

test.run();
