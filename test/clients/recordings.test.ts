/** Replays requests of real client programs (`npm run clients`) over upstreams that are as strict as their providers. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../support/gateway.ts";
import { suite } from "../support/suite.ts";
import { bedrock } from "../support/upstreams/bedrock.ts";
import type { Dialect, Script, SeenRequest, View } from "../support/upstreams/dialect.ts";
import { gemini } from "../support/upstreams/gemini.ts";
import { mistral } from "../support/upstreams/mistral.ts";
import { type FakeProvider, startProvider, type Step } from "../support/upstreams/server.ts";
import { actAsModel } from "./model.ts";
import { programs } from "./programs/index.ts";
import { type ClientProgram, labelOf } from "./programs/program.ts";
import { type Recording, recordingOf, recordingsDir } from "./recorder.ts";
import { strictAnthropic } from "./upstreams/strict-anthropic.ts";
import { strictOpenai } from "./upstreams/strict-openai.ts";

const test = suite("recorded clients");
const dialects: readonly Dialect[] = [strictOpenai, strictAnthropic, gemini, bedrock, mistral];
const LAST_EVENTS: Record<string, string> = {
  "/v1/chat/completions": "data: [DONE]\n\n",
  "/v1/messages": "event: message_stop\n",
  "/v1/responses": "event: response.completed\n",
};

const ups = new Map<Dialect, FakeProvider>();
let gateway: InProcessGateway;
/** The reaction of the models to a request, in the running test. */
let act: (request: { view: View; seen: SeenRequest }) => Step;

test.before(async () => {
  const channels: Record<string, unknown> = {};
  for (const dialect of dialects) {
    const up = await startProvider(dialect);
    actAsModel(up, (request) => act(request));
    ups.set(dialect, up);
    channels[dialect.name] = { ...dialect.channel(up.root), maxRetries: 0 };
  }
  gateway = await startGateway({ config: { channels } });
});
test.after(async () => {
  await gateway?.stop();
  for (const up of ups.values()) await up.close();
});

for (const program of programs) {
  const file = join(recordingsDir, recordingOf(program));
  test(`${labelOf(program)}, ${program.wayIn}: there is a recording`, () =>
    assert.ok(existsSync(file)));
  if (!existsSync(file)) continue;
  const requests = JSON.parse(readFileSync(file, "utf8")) as Recording[];
  for (const dialect of dialects)
    test(`${labelOf(program)}, ${program.wayIn}, over ${dialect.name}`, () =>
      replay(program, requests, dialect));
}

async function replay(
  program: ClientProgram,
  requests: readonly Recording[],
  dialect: Dialect,
): Promise<void> {
  const { refusals } = ups.get(dialect)!;
  refusals.length = 0;
  let step: Step | undefined;
  act = (request) => {
    step = program.act(request, { dir: "/work/dir" });
    return step;
  };
  assert.ok(requests.length > 0, "There are requests.");
  let last = "";
  for (const recording of requests) {
    const { method, path, headers, body } = recording;
    step = undefined;
    const request = { ...replaceIds(body as Body, last), model: modelOf(recording, dialect) };
    const response = await gateway.request(method, path, request, { headers });
    last = await response.text();
    assertAnswer({ recording, dialect, step, status: response.status, text: last });
  }
  assert.equal(refusals, [], "The upstream refused nothing.");
}

interface Body {
  previous_response_id?: string;
  input?: { call_id?: string }[];
}

function modelOf({ body }: Recording, { name, model }: Dialect): string {
  return JSON.stringify(body).includes("no-such-model")
    ? `${name}/no-such-model`
    : `${name}/${model}`;
}

function isThread(body: unknown): boolean {
  return (body as { thread?: object }).thread !== undefined;
}

/** Replaces the ids of a request that continues the last response, because it must not name those of the recorded run. */
function replaceIds(body: Body, last: string): Body {
  if (body.previous_response_id === undefined) return body;
  const [id] = /resp_\w+/.exec(last) ?? [];
  const calls = [...new Set([...last.matchAll(/"call_id":"([^"]+)"/g)].map(([, call]) => call!))];
  const input = body.input?.map((item, i) => ({ ...item, call_id: calls[i] }));
  return { ...body, previous_response_id: id!, input: input! };
}

interface Answered {
  recording: Recording;
  dialect: Dialect;
  step: Step | undefined;
  status: number;
  text: string;
}

/** Asserts that the model's answer, or the provider's refusal, reaches the client in the client's own format. */
function assertAnswer({ recording, dialect, step, status, text }: Answered): void {
  if (isThread(recording.body) && dialect !== strictAnthropic) {
    assert.match(text, "thread_unsupported_request");
    return;
  }
  if (step !== undefined && "refuse" in step) {
    assert.is(status, dialect.refusal(step.refuse).status, text);
    return;
  }
  assert.is(status, recording.status, text);
  if (step !== undefined && "answer" in step) assertSays(recording, step.answer, text);
}

function assertSays({ path, body }: Recording, answer: Script, text: string): void {
  for (const word of answer.text ?? []) assertHolds(text, word);
  for (const { name } of answer.calls ?? []) assertHolds(text, name.split(/\/|__/).at(-1)!);
  const isStream = (body as { stream?: boolean }).stream === true;
  const lastEvent = LAST_EVENTS[path.replace(/\?.*/, "")];
  if (lastEvent !== undefined) assert.is(text.includes(lastEvent), isStream, text);
}

function assertHolds(text: string, word: string): void {
  const inJson = JSON.stringify(word).slice(1, -1);
  assert.ok(text.includes(inJson), `${text} has no ${inJson}`);
}

test.run();
