/** What real client programs have sent (`npm run clients`), over upstreams that refuse what their providers refuse. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { startGateway } from "../support/gateway.ts";
import { suite } from "../support/suite.ts";
import { bedrock } from "../support/upstreams/bedrock.ts";
import type { Dialect } from "../support/upstreams/dialect.ts";
import { gemini } from "../support/upstreams/gemini.ts";
import { mistral } from "../support/upstreams/mistral.ts";
import { startProvider, type Step } from "../support/upstreams/server.ts";
import { actAsModel } from "./model.ts";
import { programs } from "./programs/index.ts";
import type { ClientProgram } from "./programs/program.ts";
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

for (const program of programs) {
  const file = join(recordingsDir, recordingOf(program));
  if (!existsSync(file)) continue;
  const requests = JSON.parse(readFileSync(file, "utf8")) as Recording[];
  for (const dialect of dialects)
    test(`${program.name}, ${program.wayIn}, over ${dialect.name}`, () =>
      replay(program, requests, dialect));
}

async function replay(
  program: ClientProgram,
  requests: readonly Recording[],
  dialect: Dialect,
): Promise<void> {
  const up = await startProvider(dialect);
  const channel = { ...dialect.channel(up.root), maxRetries: 0 };
  const gateway = await startGateway({ config: { channels: { up: channel } } });
  const steps: Step[] = [];
  try {
    actAsModel(up, (request) => {
      const step = program.act(request, { dir: "/work/dir" });
      steps.push(step);
      return step;
    });
    assert.ok(requests.length > 0, "There are requests.");
    for (const recording of requests) {
      const { method, path, headers, body } = recording;
      const known = !JSON.stringify(body).includes("no-such-model");
      const model = known ? `up/${dialect.model}` : "up/no-such-model";
      const before = steps.length;
      const asked = { ...(body as object), model };
      const response = await gateway.request(method, path, asked, { headers });
      const step = steps.slice(before).at(-1);
      const text = await response.text();
      if (step !== undefined && "refuse" in step)
        assert.is(response.status, dialect.refusal(step.refuse).status, text);
      else assertAnswer(recording, step, response.status, text);
    }
    assert.equal(up.refusals, [], "The upstream refused nothing.");
  } finally {
    await gateway.stop();
    await up.close();
  }
}

/** What the model says comes to the client in the client's own form. */
function assertAnswer(
  { path, body, status: recorded = 200 }: Recording,
  step: Step | undefined,
  status: number,
  text: string,
): void {
  assert.is(status, recorded, text);
  if (step === undefined || !("answer" in step)) return;
  for (const word of step.answer.text ?? []) assertHolds(text, word);
  for (const { name } of step.answer.calls ?? []) assertHolds(text, name.split(/\/|__/).at(-1)!);
  const isStream = (body as { stream?: boolean }).stream === true;
  const lastEvent = LAST_EVENTS[path.replace(/\?.*/, "")];
  if (lastEvent !== undefined) assert.is(text.includes(lastEvent), isStream, text);
}

function assertHolds(text: string, word: string): void {
  const inJson = JSON.stringify(word).slice(1, -1);
  assert.ok(text.includes(inJson), `${text} has no ${inJson}`);
}

test.run();
