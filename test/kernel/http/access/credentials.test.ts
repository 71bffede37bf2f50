/** Who a route lets in, and what it knows of them. */
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
  const one = await startRoutes();
  const seen: Client[] = [];
  for (const access of ["gateway", "client", "control", "public", "own"] as Access[]) {
    one.route("GET", `/${access}`, { access }, (call) => {
      seen.push(call.client);
      return call.client;
    });
  }
  return Object.assign(one, { seen });
}

test("the handler knows who was let in", async () => {
  const one = await doors();
  await ask(one, "GET", "/gateway", { authorization: "Bearer right-token" });
  await ask(one, "GET", "/public", { authorization: "Bearer right-token" });
  assert.equal(
    one.seen.map(({ kind }) => kind),
    ["owner", "anonymous"],
  );
});

test("a changed token applies at once", async () => {
  const one = await doors();
  await one.plugin.use("host").config.set("gateway.auth.token", "new-token");
  assert.is(
    (await ask(one, "GET", "/gateway", { authorization: "Bearer right-token" })).status,
    401,
  );
  assert.is((await ask(one, "GET", "/gateway", { authorization: "Bearer new-token" })).status, 200);
});

test("two Authorization headers are refused, whatever they hold", async () => {
  const { port } = await doors();
  const right: [string, string] = ["Authorization", "Bearer right-token"];
  for (const second of [right, ["authorization", "Bearer wrong"]] as [string, string][]) {
    const answer = await exchange(
      port,
      head("GET", "/gateway", [["host", `127.0.0.1:${port}`], right, second]),
    );
    assert.is(answer.status, 401);
  }
});

test("the body of a refused request is never read", async () => {
  const one = await startRoutes();
  let read = false;
  one.route("POST", "/item", { access: "gateway" }, async (call) => {
    read = true;
    return call.json();
  });
  // Only the head is sent: an answer shows that nobody waited for the body.
  const request = `POST /item HTTP/1.1\r\nhost: 127.0.0.1:${one.port}\r\ncontent-length: 1000000\r\n\r\n`;
  const socket = connect(one.port, "127.0.0.1", () => socket.write(request));
  await waitForText(socket, /^HTTP\/1.1 401 /);
  socket.destroy();
  assert.is(read, false);
});

test("client keys: asked where the owner's token does not fit, good for `keys` only", async () => {
  const asked: string[] = [];
  const authenticator: Authenticator = {
    name: "test-keys",
    async authenticate(token) {
      asked.push(token);
      if (token === "expired") throw new PorticoError("forbidden", "This key has expired.");
      return token === "key-1"
        ? { kind: "key", key: "one", grant: { models: ["echo"] } }
        : undefined;
    },
  };
  const one = await doors();
  one.plugin.add("authenticator", authenticator);
  const as = (token: string, access: Access) =>
    ask(one, "GET", `/${access}`, { authorization: `Bearer ${token}` });

  assert.is((await as("right-token", "client")).status, 200);
  assert.equal(asked, [], "the owner's token is nobody else's business");
  assert.is((await as("key-1", "client")).status, 200);
  assert.equal(one.seen.at(-1), { kind: "key", key: "one", grant: { models: ["echo"] } });
  for (const access of ["gateway", "control"] as const) {
    const answer = await as("key-1", access);
    assert.is(answer.status, 403);
    assert.is(codeOf(answer), "forbidden");
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
  const one = await doors();
  for (const authenticator of [broken, good]) one.plugin.add("authenticator", authenticator);
  assert.is((await ask(one, "GET", "/client", { authorization: "Bearer k" })).status, 200);
  assert.is(
    (await ask(one, "GET", "/client", { authorization: "Bearer right-token" })).status,
    200,
  );
  assert.is((await ask(one, "GET", "/client", { authorization: "Bearer other" })).status, 503);
  assert.ok(
    one.lines.some(
      ({ level, fields }) => level === "error" && fields["authenticator"] === "broken",
    ),
  );
});

test("no credential reaches a log line or an answer", async () => {
  const one = await doors();
  const secrets = ["sekret-1", "sekret-2", "sekret-3"];
  const answers = await Promise.all([
    ask(one, "GET", "/control?token=sekret-1", { authorization: "Bearer sekret-1" }),
    ask(one, "GET", "/control", { "x-service-password": "sekret-2" }),
    ask(one, "GET", "/control", {
      authorization: `Basic ${Buffer.from("me:sekret-3").toString("base64")}`,
    }),
  ]);
  const text = JSON.stringify([answers, one.lines]);
  for (const secret of secrets) assert.not.match(text, secret);
  assert.not.match(text, "right-token");
});

test.run();
