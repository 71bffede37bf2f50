import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { signRequest } from "../../../plugins/provider-bedrock/signature.ts";

const keys = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};
const signature = (headers: Record<string, string>) =>
  /Signature=(\w+)$/.exec(headers.authorization ?? "")?.[1];

test("AWS's own example (get-vanilla)", () => {
  const headers = signRequest({
    method: "GET",
    url: "https://example.amazonaws.com/",
    headers: {},
    body: "",
    service: "service",
    region: "us-east-1",
    date: new Date("2015-08-30T12:36:00Z"),
    ...keys,
  });
  assert.is(headers["x-amz-date"], "20150830T123600Z");
  assert.match(
    headers.authorization!,
    "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date",
  );
  assert.is(signature(headers), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
});

// Signatures that another implementation (aws4fetch 1.0.20) gave for the same requests.
test("model ids with a colon, ARNs, queries, a session token", () => {
  const base = {
    service: "bedrock",
    region: "eu-west-1",
    sessionToken: "tok",
    headers: {},
    ...keys,
  };
  const sign = (method: string, url: string, body: string) =>
    signature(signRequest({ ...base, method, url, body, date: new Date("2026-11-21T01:02:03Z") }));
  const host = "https://bedrock-runtime.eu-west-1.amazonaws.com";
  assert.is(
    sign("POST", `${host}/model/anthropic.claude-3-5-sonnet-20240620-v1%3A0/converse`, '{"a":"é"}'),
    "4cd077d01e15983630d6c5f9f06c171a0d84fd386015547efb3d4b88ee64c35e",
  );
  const arn = encodeURIComponent("arn:aws:bedrock:us-east-1:123:inference-profile/us.a(b)'c*");
  assert.is(
    sign("POST", `https://x.test/model/${arn}/converse-stream`, "{}"),
    "aff6b289c61c27ab813a9877e17f49df6bd8bd9bbb948c404538a399ad663870",
  );
  assert.is(
    sign(
      "GET",
      "https://bedrock.eu-west-1.amazonaws.com/foundation-models?byOutputModality=TEXT&a=b%20c",
      "",
    ),
    "82b729c6d12ee06f452cdbd0b21853257c8e9e780b95554d8b3716ce45239087",
  );
});

test.run();
