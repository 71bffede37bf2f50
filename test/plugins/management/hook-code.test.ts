/** The current files of a hook, and those of earlier versions. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { suite } from "../../support/suite.ts";
import { untilRight } from "../../support/until.ts";

const test = suite("the code of hooks");
const SECRET = "a-secret-of-the-gateway-12345";
let gateway: InProcessGateway;

interface Code {
  files: { path: string; text: string }[];
  versions: { hash: string; loadedAt: string; files: Code["files"] }[];
}
const code = (name: string): Promise<Code> => gateway.json("GET", `/kernel/hooks/${name}/code`);
const handlerIn = ({ files }: Pick<Code, "files">) =>
  files.find(({ path }) => path === "handler.ts")?.text;

test.before(async () => {
  gateway = await startGateway({
    config: { gateway: { auth: { token: SECRET } } },
    files: {
      ...hookFiles("words", `ctx.log.info("one ${SECRET}");`),
      "hooks/words/.env": "KEY=hidden",
      "hooks/words/lib/more.ts": "export const more = 1;",
    },
  });
});
test.after(() => gateway.stop());

test("the files of a hook are shown without hidden files and secrets", async () => {
  const { files, versions } = await code("words");
  assert.equal(files.map(({ path }) => path).sort(), ["HOOK.md", "handler.ts", "lib/more.ts"]);
  assert.not.match(JSON.stringify({ files, versions }), new RegExp(`${SECRET}|hidden`));
  assert.match(handlerIn({ files })!, /"one /);
  assert.is(versions.length, 1);
});

test("each version that ran is stored with its code, and a version that does not load exists only on disk", async () => {
  gateway.write("hooks/words/handler.ts", "export default async () => { const two = 2; };\n");
  const { versions } = await untilRight(
    () => code("words"),
    (now) => now.versions.length === 2,
  );
  assert.match(handlerIn(versions[0]!)!, /two/);
  assert.match(handlerIn(versions[1]!)!, /one/);
  gateway.write("hooks/words/handler.ts", "export default async () => { three");
  await untilRight(
    () => gateway.json("GET", "/kernel/hooks/words"),
    ({ state }) => state === "stale",
  );
  const stale = await code("words");
  assert.match(handlerIn(stale)!, /three/);
  assert.is(stale.versions.length, 2);
});

test("requests can be filtered by a hook that ran for them", async () => {
  const body = { model: "echo", messages: [{ role: "user", content: "Hi" }] };
  await gateway.json("POST", "/v1/chat/completions", body);
  const of = async (hook: string) => (await gateway.json("GET", `/requests?hook=${hook}`)).requests;
  assert.is((await of("words")).length, 1);
  assert.is((await of("nobody")).length, 0);
});

test("providers are listed with the addresses of their requests", async () => {
  const { providers } = await gateway.json<{ providers: { name: string; baseUrl?: string }[] }>(
    "GET",
    "/providers",
  );
  const urlOf = (provider: string) => providers.find(({ name }) => name === provider)?.baseUrl;
  assert.is(urlOf("anthropic"), "https://api.anthropic.com");
  assert.is(urlOf("openrouter"), "https://openrouter.ai/api/v1");
});

test("a mapping can be tried on a request before it is created", async () => {
  const tried = await gateway.json("POST", "/webhooks/test", {
    path: "shop",
    body: { order: { id: 7 } },
    change: { message: "Look at {body.order.id}", session: "order" },
  });
  assert.match(tried.task, /Look at/);
  const unknown = { path: "shop", body: {} };
  assert.is((await gateway.request("POST", "/webhooks/test", unknown)).status, 404);
  const sample = { path: "x y", body: {}, change: { message: "x" } };
  assert.is((await gateway.request("POST", "/webhooks/test", sample)).status, 400);
  assert.equal((await gateway.json("GET", "/webhooks")).mappings, []);
});

test.run();
