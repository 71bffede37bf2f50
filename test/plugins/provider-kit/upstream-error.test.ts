import { parseDataUrl } from "../../../plugins/provider-kit/request/data-url.ts";
import {
  isUpstreamError,
  readOpenAiProblem,
  upstreamError,
} from "../../../plugins/provider-kit/stream/upstream-error.ts";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";

const describe = (status: number, body: string) => {
  const error = upstreamError(readOpenAiProblem(status, Buffer.from(body)), status);
  assert.ok(isUpstreamError(error));
  return [error.status, error.code, error.message] as const;
};
const openai = (message: string, code: unknown = null) =>
  JSON.stringify({ error: { message, type: "t", param: null, code } });

test("the caller's errors are passed on with status, message and code", () => {
  assert.equal(describe(400, openai("too long", "context_length_exceeded")), [
    400,
    "context_length_exceeded",
    "too long",
  ]);
  assert.equal(describe(404, openai("no such model")), [
    404,
    "invalid_request_error",
    "no such model",
  ]);
  assert.equal(describe(422, '{"detail":[{"msg":"bad"}]}'), [
    422,
    "invalid_request_error",
    '[{"msg":"bad"}]',
  ]);
});

test("errors of the gateway and of the upstream have the gateway's codes", () => {
  for (const status of [401, 402, 403])
    assert.equal(describe(status, openai("key")).slice(0, 2), [502, "upstream_auth"]);
  for (const status of [408, 504])
    assert.equal(describe(status, openai("slow")).slice(0, 2), [504, "upstream_timeout"]);
  for (const status of [503, 529])
    assert.equal(describe(status, openai("busy")).slice(0, 2), [503, "upstream_error"]);
  for (const status of [405, 500, 502])
    assert.equal(describe(status, openai("boom")).slice(0, 2), [502, "upstream_error"]);
});

test("a rate limit always has a Retry-After", () => {
  const error = upstreamError({ kind: "rate_limit", message: "slow down", retryAfter: 2.2 }, 429);
  assert.equal(error.headers, { "retry-after": "3" });
  assert.is(
    upstreamError({ kind: "rate_limit", message: "slow down" }, 429).headers?.["retry-after"],
    "1",
  );
});

test("reads the usual deviations of error bodies", () => {
  assert.is(readOpenAiProblem(500, Buffer.from('{"error":"plain"}')).message, "plain");
  assert.is(
    readOpenAiProblem(500, Buffer.from('{"object":"error","message":"vllm"}')).message,
    "vllm",
  );
  assert.is(
    readOpenAiProblem(400, Buffer.from('[{"error":{"message":"listed","code":400}}]')).message,
    "listed",
  );
  assert.match(
    readOpenAiProblem(502, Buffer.from("<html><title>Bad gateway</title></html>")).message,
    "Bad gateway",
  );
  assert.match(readOpenAiProblem(500, Buffer.alloc(0)).message, "without a body");
});

test("parses data URLs", () => {
  assert.equal(parseDataUrl("data:image/PNG;base64,AAEC"), {
    mediaType: "image/png",
    data: Buffer.from([0, 1, 2]),
  });
  assert.is(parseDataUrl("data:,hi%20there")?.data.toString(), "hi there");
  assert.is(parseDataUrl("data:image/png;base64"), undefined);
  assert.is(parseDataUrl("data:image/png;base64,*"), undefined);
  assert.is(parseDataUrl("http://x"), undefined);
});

test.run();
