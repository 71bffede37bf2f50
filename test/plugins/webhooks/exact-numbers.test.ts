/** Ids beyond 2^53 keep their digits on their way through mappings. */
import * as assert from "uvu/assert";
import { suite } from "../../support/suite.ts";
import { porticoHere } from "../../support/portico.ts";
import { type Receiver, startReceiver, TOKEN } from "./sender.ts";

const test = suite("large numbers in webhooks");
let gateway: Receiver;
const A = "7615917337495251231";
const B = "7615917337495251232";
const HOOK = `export default ({ context }) => {
  if (context.metadata.id === "${A}") context.content += " hook";
};`;

test.before(async () => {
  gateway = await startReceiver(
    {
      mappings: {
        order: {
          message: "Order {body.id} of {json body.customer}",
          session: "webhook:order:{body.id}",
          wait: true,
          respond: { status: 200, body: "{body.id}" },
        },
        text: { match: { "body.id": A }, message: "x" },
        listed: { match: { "body.id": { in: [A, 5] } }, message: "x" },
        pattern: { match: { "body.id": { regex: `^${A}$` } }, message: "x" },
        begins: { match: { "body.id": { prefix: "76159" } }, message: "x" },
        quiet: {
          message: "{body.id}",
          coalesce: { key: "{body.id}", windowMs: 400, maxWaitMs: 2000 },
        },
      },
    },
    {
      files: {
        "hooks/watch/HOOK.md": "---\nname: watch\nevents: [message:received]\n---\n",
        "hooks/watch/handler.mjs": HOOK,
      },
    },
  );
});
test.after(() => gateway.stop());

test("templates keep the digits in every form that contains JSON", async () => {
  const forms: [type: string, body: string][] = [
    ["application/json", `{"id":${A},"customer":{"no":${B}}}`],
    ["application/json; charset=latin1", `{"id":${A},"customer":{"no":${B}}}`],
    ["application/cloudevents+json", `{"id":${A},"customer":{"no":${B}}}`],
  ];
  for (const [type, body] of forms) {
    const response = await gateway.send("/hooks/order", body, {
      authorization: `Bearer ${TOKEN}`,
      "content-type": type,
    });
    assert.is(response.status, 200);
    assert.is(response.text.replaceAll('"', ""), A, type);
  }
  const { messages } = await gateway.json("GET", `/sessions/webhook:order:${A}`);
  assert.match(JSON.stringify(messages), B);
});

test("a match holds for these digits alone", async () => {
  for (const mapping of ["text", "listed", "pattern"]) {
    const outcome = async (id: string) => {
      const { body } = await gateway.send(`/hooks/${mapping}`, `{"id":${id}}`);
      return body.outcome ?? "accepted";
    };
    assert.is(await outcome(A), "accepted", mapping);
    assert.is(await outcome(B), "skipped", mapping);
    assert.is(await outcome("7615917337495251000"), "skipped", mapping);
  }
});

test("the beginning of an id is compared with its digits, whether it is a number or a text", async () => {
  for (const [body, outcome] of [
    [`{"id":${A}}`, "accepted"],
    [`{"id":"${A}"}`, "accepted"],
    ['{"id":76159}', "accepted"],
    ['{"id":7615}', "skipped"],
    ['{"id":{"76159":1}}', "skipped"],
    ['{"id":null}', "skipped"],
  ] as const) {
    const response = await gateway.send("/hooks/begins", body);
    assert.is(response.body.outcome ?? "accepted", outcome, body);
  }
});

test("two ids that a double takes for one are two bursts", async () => {
  const sessionOf = async (id: string) =>
    (await gateway.send("/hooks/quiet", `{"id":${id}}`)).body.sessionId as string;
  const first = await sessionOf(A);
  assert.is.not(await sessionOf(B), first);
  assert.is(await sessionOf(A), first);
});

test("the delivery log shows the digits, and a replay reads them", async () => {
  await gateway.send("/hooks/order", `{"id":${B},"customer":1}`);
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?limit=1");
  const { id } = deliveries[0];
  const { payload } = await gateway.json("GET", `/webhooks/deliveries/${id}`);
  assert.match(payload, `"id":${B}`);
  const { sessionId } = await gateway.json("POST", `/webhooks/deliveries/${id}/replay`);
  assert.is(sessionId, `webhook:order:${B}`);
});

test("the context of a task keeps the digits too", async () => {
  const session = "webhook:task";
  const body = `{"message":"Look it up","session":"${session}","wait":true,"context":{"id":${A}}}`;
  assert.is((await gateway.send("/hooks/agent", body)).status, 200);
  const { messages } = await gateway.json("GET", `/sessions/${session}`);
  assert.match(JSON.stringify(messages), A);
});

test("the owner's own task keeps the digits, and hooks read them as a string", async () => {
  const response = await gateway.send(
    "/agent",
    `{"message":"Look it up","session":"own","wait":true,"context":{"id":${A}}}`,
    { authorization: `Bearer ${gateway.token}` },
  );
  assert.is(response.status, 200);
  const { messages } = await gateway.json("GET", "/sessions/own");
  assert.match(JSON.stringify(messages), A);
  assert.match(JSON.stringify(messages), "Look it up hook");
});

test("a dry run reads the digits of the command line", async () => {
  const words = ["webhooks", "test", "order", "--body", `{"id":${A}}`, "--json"];
  const tried = await porticoHere(gateway.home, words);
  assert.is(tried.code, 0, tried.stderr);
  assert.is(JSON.parse(tried.stdout).session, `webhook:order:${A}`);
  const skipped = await porticoHere(gateway.home, [
    "webhooks",
    "test",
    "listed",
    "--body",
    `{"id":${B}}`,
  ]);
  assert.match(skipped.stdout, B);
});

test.run();
