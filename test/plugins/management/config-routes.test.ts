/** `PATCH /kernel/config`: members of one object, all or none. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";

const test = suite("members of the configuration");
const name = "my.shop";
/** The member as it is in the file. */
const SECRET = "${PATH}";
let gateway: InProcessGateway;

test.before(async () => {
  const mapping = {
    message: "Look.",
    session: "shop",
    verify: { scheme: "github", secret: SECRET },
  };
  gateway = await startGateway({
    config: {
      webhooks: { enabled: true, token: "token-of-webhooks-1", mappings: { [name]: mapping } },
    },
  });
});
test.after(() => gateway.stop());

const file = () => join(gateway.home, "portico.json");
const stored = () => JSON.parse(readFileSync(file(), "utf8")).webhooks.mappings[name];
const tag = async () =>
  (await gateway.request("GET", "/kernel/config")).headers.get("etag") as string;
const patch = async (members: object, path: unknown = ["webhooks", "mappings", name]) =>
  gateway.request(
    "PATCH",
    "/kernel/config",
    { path, members },
    {
      headers: { "if-match": await tag() },
    },
  );

test("several members are written at once, and the others stay unchanged, including secrets and references", async () => {
  const response = await patch({
    message: "Look at {body.id}.",
    match: { "body.id": 7 },
    session: null,
  });
  assert.is(response.status, 200);
  assert.equal(stored(), {
    message: "Look at {body.id}.",
    verify: { scheme: "github", secret: SECRET },
    match: { "body.id": 7 },
  });
});

test("a member that would not load leaves all members unchanged", async () => {
  const before = readFileSync(file(), "utf8");
  for (const [members, path] of [
    [{ message: "Other.", match: 7 }],
    [{ message: "Other.", mesage: "x" }],
    [{ message: "Other.", verify: { scheme: "gitlab", secret: "********x" } }],
    [{ message: "Other." }, []],
    [{ message: "Other." }, "webhooks"],
    [{ message: "Other." }, ["webhooks", "mappings", name, "message"]],
    [{ polluted: true }, ["__proto__"]],
  ] as [object, unknown?][]) {
    const response = await patch(members, path);
    assert.is(response.status, 400, JSON.stringify([members, path]));
    assert.is(readFileSync(file(), "utf8"), before);
  }
});

test.run();
