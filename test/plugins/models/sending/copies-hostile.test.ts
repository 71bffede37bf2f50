/** Text that guards have changed has no copy in a response: refusals, audio transcripts, tokens with probabilities. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import {
  completion,
  DONE,
  data,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../../support/upstreams/upstream.ts";

const test = suite("copies hostile");
const secretText = "a SECRET, and more";
let up: Upstream;
let gateway: InProcessGateway;

const GUARD = `
import { definePlugin } from "portico";
export default definePlugin({ name: "guard", setup(ctx) {
  let undos = [];
  const held = new Map();
  ctx.route("POST", "/t/mode", { access: "gateway" }, async (call) => {
    for (const undo of undos.splice(0)) undo();
    const { mode } = await call.json();
    if (mode === "sending" || mode === "block") undos.push(ctx.on("message:sending", ({ context }) => {
      if (mode === "block" && context.content.includes("SECRET")) return { block: "not this" };
      context.content = context.content.replaceAll("SECRET", "[gone]");
    }));
    if (mode === "streaming") undos.push(ctx.on("message:streaming", ({ context }) => {
      const { streamId, text, final } = context;
      const all = ((held.get(streamId) ?? "") + text).replaceAll("SECRET", "[gone]");
      const keep = final ? 0 : [5, 4, 3, 2, 1].find((n) => all.endsWith("SECRET".slice(0, n))) ?? 0;
      held.set(streamId, all.slice(all.length - keep));
      if (final) held.delete(streamId);
      context.text = all.slice(0, all.length - keep);
    }));
    return {};
  });
  ctx.route("GET", "/t/held", { access: "gateway" }, () => [...held.keys()]);
} });`;

test.before(async () => {
  up = await startUpstream((_, res) => json(res, completion("ok")));
  gateway = await startGateway({
    config: {
      channels: { main: { provider: "openai", baseUrl: up.url, maxRetries: 0, models: ["m"] } },
    },
    files: { "plugins/guard/plugin.ts": GUARD },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const mode = (name: string) => gateway.json("POST", "/t/mode", { mode: name });
const user = [{ role: "user", content: "hi" }];
const doors: Record<string, (stream: boolean) => Promise<Response>> = {
  chat: (stream) =>
    gateway.request("POST", "/v1/chat/completions", { model: "m", messages: user, n: 2, stream }),
  messages: (stream) =>
    gateway.request("POST", "/v1/messages", { model: "m", max_tokens: 9, messages: user, stream }),
  responses: (stream) =>
    gateway.request("POST", "/v1/responses", { model: "m", input: "hi", top_logprobs: 1, stream }),
};
const cut = (size: number) => secretText.match(new RegExp(`.{1,${size}}`, "g"))!;
const tokens = (pieces: readonly string[]) =>
  pieces.map((token) => {
    const entry = { token, logprob: -1, bytes: [...Buffer.from(token)] };
    return { ...entry, top_logprobs: [entry] };
  });
const isBytes = (value: unknown): value is number[] =>
  Array.isArray(value) && typeof value[0] === "number";
/** Members of a list are named by their own index: a stream sends each many times. */
function membersOf(value: any): [name: string, member: any][] {
  if (Array.isArray(value)) return value.map((member) => [member?.index ?? "", member]);
  return Object.entries(value ?? {});
}
/** The text of each member of each choice over all events, and all bytes of a list. */
function spelt(text: string): string {
  const members = new Map<string, string>();
  const add = (path: string, more: string) => members.set(path, (members.get(path) ?? "") + more);
  const walk = (value: any, path: string): void => {
    if (typeof value === "string") add(path, value);
    else if (isBytes(value)) add(path, Buffer.from(value).toString());
    else for (const [name, member] of membersOf(value)) walk(member, `${path}.${name}`);
  };
  const events = Array.from(text.matchAll(/^(?:data: )?(\{.*\})$/gm), ([, eventJson]) =>
    JSON.parse(eventJson!),
  );
  for (const item of events) walk(item, "");
  return [...members.values()].join("\n");
}

type Choice = { message: object; logprobs?: object };
const whole = (choices: Choice[]) =>
  completion("", {
    choices: choices.map((choice, index) => ({ index, finish_reason: "stop", ...choice })),
  });
const event = (choices: object[]) =>
  data({ id: "chatcmpl-up", object: "chat.completion.chunk", created: 1, model: "m", choices });
const part = (delta: object, index = 0, logprobs: object | null = null) => ({
  ...{ index, delta, logprobs },
  finish_reason: null,
});
const finish = (index = 0) => event([{ index, delta: {}, finish_reason: "stop" }]);

/** As a whole response, and as a stream in pieces of a size. */
const forms: Record<string, { whole(size: number): object; stream(pieces: string[]): string[] }> = {
  refusal: {
    whole: () => whole([{ message: { role: "assistant", content: null, refusal: secretText } }]),
    stream: (pieces) => [...pieces.map((refusal) => event([part({ refusal })])), finish()],
  },
  "refusal behind a text": {
    whole: () => whole([{ message: { role: "assistant", content: "Well.", refusal: secretText } }]),
    stream: (pieces) => [
      event([part({ content: "Well. SEC" })]),
      ...pieces.map((refusal) => event([part({ refusal })])),
      finish(),
    ],
  },
  tokens: {
    whole: (size) =>
      whole([
        {
          message: { content: secretText },
          logprobs: { content: tokens(cut(size)), refusal: null },
        },
      ]),
    stream: (pieces) => [
      ...pieces.map((content) => event([part({ content }, 0, { content: tokens([...content]) })])),
      finish(),
    ],
  },
  "tokens of a refusal": {
    whole: (size) =>
      whole([
        {
          message: { content: null, refusal: secretText },
          logprobs: { content: null, refusal: tokens(cut(size)) },
        },
      ]),
    stream: (pieces) => [
      ...pieces.map((refusal) => event([part({ refusal }, 0, { refusal: tokens([refusal]) })])),
      finish(),
    ],
  },
  "two choices": {
    whole: (size) =>
      whole(
        [0, 1].map(() => ({
          message: { content: secretText },
          logprobs: { content: tokens(cut(size)) },
        })),
      ),
    stream: (pieces) => [
      ...pieces.map((content) =>
        event([0, 1].map((i) => part({ content }, i, { content: tokens([content]) }))),
      ),
      finish(0),
      finish(1),
    ],
  },
};

/** Copies that no text of a choice contains, so that handlers cannot judge them. */
const unseen: Record<string, { whole: object; stream: string[] }> = {
  "a text beside the message": {
    whole: { ...whole([{ message: { content: "fine" }, text: secretText } as Choice]) },
    stream: [
      event([{ ...part({ content: "fine" }), text: secretText }]),
      event([{ ...part({ content: "er" }), text: secretText }]),
    ],
  },
  "tokens of no text": {
    whole: whole([{ message: { content: "" }, logprobs: { content: tokens(cut(3)) } }]),
    stream: cut(3).map((token) => event([part({}, 0, { content: tokens([token]) })])),
  },
  "tokens of an empty text": {
    whole: whole([
      { message: { content: null }, logprobs: { content: null, refusal: tokens(cut(3)) } },
    ]),
    stream: cut(3).map((token) => event([part({ content: "" }, 0, { content: tokens([token]) })])),
  },
};

for (const [name, form] of Object.entries(unseen)) {
  test(`${name} is not sent if a handler judges the response`, async () => {
    for (const how of ["sending", "streaming"]) {
      await mode(how);
      for (const [door, ask] of Object.entries(doors)) {
        up.answer = (_, res) =>
          stream(res, event([part({ content: "So. " })]), ...form.stream, finish(), DONE);
        const streamed = await (await ask(true)).text();
        assert.ok(spelt(streamed).includes("So. "), streamed);
        assert.not.ok(spelt(streamed).includes("SECRET"), `${door}, ${how}: ${streamed}`);
        if (how === "streaming") continue;
        up.answer = (_, res) => json(res, form.whole);
        const text = await (await ask(false)).text();
        assert.not.ok(spelt(text).includes("SECRET"), `${door}: ${text}`);
      }
    }
  });
}

test("the text of a choice is used if its message has none", async () => {
  await mode("sending");
  up.answer = (request, res) =>
    request.body.stream
      ? stream(
          res,
          ...cut(3).map((text) => event([{ index: 0, text, finish_reason: null }])),
          finish(),
          DONE,
        )
      : json(
          res,
          completion("", { choices: [{ index: 0, text: secretText, finish_reason: "stop" }] }),
        );
  for (const [door, ask] of Object.entries(doors))
    for (const streamed of [false, true]) {
      const text = spelt(await (await ask(streamed)).text());
      assert.ok(
        text.includes("a [gone], and more") && !text.includes("SECRET"),
        `${door}: ${text}`,
      );
    }
});

for (const [name, form] of Object.entries(forms)) {
  for (const how of ["sending", "streaming"]) {
    test(`${name}: message:${how}`, async () => {
      for (const [door, ask] of Object.entries(doors)) {
        for (const streamed of how === "sending" ? [false, true] : [true]) {
          for (const size of [1, 3, 40]) {
            await mode(how);
            up.answer = (request, res) =>
              request.body.stream
                ? stream(res, ...form.stream(cut(size)), DONE)
                : json(res, form.whole(size));
            const text = await (await ask(streamed)).text();
            const all = spelt(text);
            // a Message says one or the other
            if (door !== "messages" || streamed || !name.includes("behind"))
              assert.ok(all.includes("a [gone], and more"), `${door} ${size}: ${text}`);
            assert.not.ok(all.includes("SECRET"), `${door} ${size}: ${text}`);
          }
        }
      }
      assert.equal(await gateway.json("GET", "/t/held"), [], "each text has had its last piece");
    });
  }
}

test("a handler can refuse a refusal text like any other", async () => {
  await mode("block");
  for (const name of ["refusal", "refusal behind a text"]) {
    up.answer = (_, res) => json(res, forms[name]!.whole(1));
    for (const ask of Object.values(doors)) assert.is((await ask(false)).status, 403);
    up.answer = (_, res) => stream(res, ...forms[name]!.stream(cut(3)), DONE);
    for (const ask of Object.values(doors))
      assert.not.ok(spelt(await (await ask(true)).text()).includes("SECRET"));
  }
});

test("the transcript of audio is judged, whole and in a stream", async () => {
  const audio = { id: "audio_1", data: "UklGRg==", expires_at: 1, transcript: secretText };
  for (const how of ["sending", "streaming"]) {
    await mode(how);
    up.answer = (_, res) =>
      json(res, whole([{ message: { role: "assistant", content: null, audio } }]));
    const body = (await (await doors["chat"]!(false)).json()) as any;
    const { transcript, data: sound } = body.choices[0].message.audio;
    // the sound says what its words said
    if (how === "sending") assert.equal([transcript, sound], ["a [gone], and more", ""]);
    const pieces = cut(4).map((transcript) =>
      event([part({ audio: { id: "audio_1", transcript } })]),
    );
    up.answer = (_, res) => stream(res, ...pieces, finish(), DONE);
    const text = await (await doors["chat"]!(true)).text();
    assert.ok(spelt(text).includes("a [gone], and more") && !spelt(text).includes("SECRET"), text);
  }
});

test("tokens of an unchanged text are kept", async () => {
  const logprobs = { content: tokens(["fine"]), refusal: null };
  for (const how of ["sending", "streaming"]) {
    await mode(how);
    up.answer = (_, res) => json(res, whole([{ message: { content: "fine" }, logprobs }]));
    const body = (await (await doors["chat"]!(false)).json()) as any;
    assert.equal(body.choices[0].logprobs, logprobs);
    up.answer = (_, res) =>
      stream(res, event([part({ content: "fine" }, 0, logprobs)]), finish(), DONE);
    assert.ok((await (await doors["chat"]!(true)).text()).includes('"token":"fine"'));
  }
});

test.run();
