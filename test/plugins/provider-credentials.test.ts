/** Channels without a key: tokens of Vertex AI, Entra and AWS's chain, from fakes of their servers. */
import { createVerify, generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { suite } from "../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../support/gateway.ts";
import { temporaryDir } from "../support/temporary.ts";
import { completion, json, startUpstream, type Upstream } from "../support/upstreams/upstream.ts";

const test = suite("provider credentials");
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const VARIABLES = [
  "AZURE_TENANT_ID",
  "AZURE_CLIENT_ID",
  "AZURE_CLIENT_SECRET",
  "AZURE_AUTHORITY_HOST",
  "GCE_METADATA_HOST",
];
const before = Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]]));
let up: Upstream;
let tokens: Server;
let gateway: InProcessGateway;
let requests: { path: string; form: URLSearchParams; flavor: unknown }[] = [];
let tokenResponse: { status: number; body: object } | undefined;

test.before(async () => {
  up = await startUpstream((request, res) => {
    const token = request.headers.authorization ?? "";
    if (request.path.includes("/openai/")) return json(res, completion(`key ${token}`));
    const content = { role: "model", parts: [{ text: `key ${token}` }] };
    json(res, { candidates: [{ content, finishReason: "STOP" }], modelVersion: "g" });
  });
  tokens = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk) => {
      body += chunk;
    });
    req.on("end", () => {
      requests.push({
        path: req.url!,
        form: new URLSearchParams(body),
        flavor: req.headers["metadata-flavor"],
      });
      if (req.url === "/echo") {
        res.writeHead(400, { "content-type": "application/json" });
        return void res.end(
          JSON.stringify({ error_description: `bad: ${body} ${decodeURIComponent(body)}` }),
        );
      }
      res.writeHead(tokenResponse?.status ?? 200, { "content-type": "application/json" });
      res.end(
        JSON.stringify(
          tokenResponse?.body ?? {
            access_token: `token-number-${requests.length}`,
            expires_in: 3600,
          },
        ),
      );
    });
  });
  await new Promise<void>((resolve) => tokens.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(tokens.address() as AddressInfo).port}`;
  const dir = temporaryDir("credentials");
  const key = (name: string, content: object) => {
    writeFileSync(join(dir, name), JSON.stringify(content));
    return join(dir, name);
  };
  const service = {
    type: "service_account",
    client_email: "gateway@p.iam.example",
    private_key_id: "k1",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    token_uri: `http://${host}/service`,
  };
  const user = {
    type: "authorized_user",
    client_id: "c",
    client_secret: "s",
    refresh_token: "r",
    token_uri: `http://${host}/user`,
  };
  const secrets = { client_secret: "app/secret-1", refresh_token: "1//refresh-token" };
  Object.assign(process.env, { GCE_METADATA_HOST: host, AZURE_AUTHORITY_HOST: `http://${host}/` });
  for (const name of ["AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"])
    process.env[name] = "";
  const vertex = { provider: "gemini", project: "p", baseUrl: up.url, models: ["g"] };
  gateway = await startGateway({
    config: {
      channels: {
        service: { ...vertex, keyFile: key("service.json", service) },
        user: { ...vertex, keyFile: key("user.json", user) },
        echoed: {
          ...vertex,
          keyFile: key("echoed.json", { ...user, ...secrets, token_uri: `http://${host}/echo` }),
        },
        signed: {
          ...vertex,
          keyFile: key("signed.json", { ...service, token_uri: `http://${host}/echo` }),
        },
        external: { ...vertex, keyFile: key("external.json", { type: "external_account" }) },
        broken: { ...vertex, keyFile: key("broken.json", { ...service, private_key: "none" }) },
        missing: { ...vertex, keyFile: join(dir, "not-there.json") },
        machine: vertex,
        azure: { provider: "azure", baseUrl: up.url, models: ["g"] },
        identity: { provider: "azure", baseUrl: up.url, models: ["g"], entra: true },
        bedrock: { provider: "bedrock", baseUrl: up.url, models: ["g"] },
      },
    },
  });
});
test.before.each(() => {
  requests = [];
  tokenResponse = undefined;
  up.seen.length = 0;
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
  tokens?.close();
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

async function ask(channel: string) {
  const body = { model: `${channel}/g`, messages: [{ role: "user", content: "hi" }] };
  const response = await gateway.request("POST", "/v1/chat/completions", body);
  return { status: response.status, body: (await response.json()) as any };
}

test("a service account's file: signed, fetched once for all, masked where the upstream echoes it", async () => {
  const all = await Promise.all([ask("service"), ask("service"), ask("service")]);
  assert.equal(
    all.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.is(requests.length, 1);
  assert.ok(up.seen.every(({ headers }) => headers.authorization === "Bearer token-number-1"));
  assert.is(all[0]!.body.choices[0].message.content, "key Bearer ********");
  const { path, form } = requests[0]!;
  assert.equal(
    [path, form.get("grant_type")],
    ["/service", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
  );
  const [head, claims, signature] = form.get("assertion")!.split(".");
  assert.ok(
    createVerify("RSA-SHA256")
      .update(`${head}.${claims}`)
      .verify(publicKey, signature!, "base64url"),
  );
  const payload = JSON.parse(Buffer.from(claims!, "base64url").toString());
  assert.is(payload.iss, "gateway@p.iam.example");
  assert.is(payload.exp - payload.iat, 3600);
});

test("a user's file, and the machine's metadata server", async () => {
  assert.is((await ask("user")).status, 200);
  assert.equal([requests[0]!.path, requests[0]!.form.get("refresh_token")], ["/user", "r"]);
  assert.is((await ask("machine")).status, 200);
  assert.equal(
    [requests[1]!.path, requests[1]!.flavor],
    ["/computeMetadata/v1/instance/service-accounts/default/token", "Google"],
  );
  assert.is(up.seen[1]!.headers.authorization, "Bearer token-number-2");
});

test("a token server that echoes the request exposes no secret", async () => {
  for (const channel of ["echoed", "signed"]) {
    const { status, body } = await ask(channel);
    assert.is(status, 502);
    const exposed = JSON.stringify([body, await gateway.json("GET", "/channels"), gateway.lines]);
    assert.match(exposed, "********");
    for (const secret of [
      "app/secret-1",
      "app%2Fsecret-1",
      "refresh-token",
      requests.at(-1)!.form.get("assertion") ?? "-",
    ])
      assert.not.ok(
        secret !== "-" && exposed.includes(secret.slice(0, 60)),
        `${channel}: ${secret}`,
      );
  }
});

test("Entra's token of an application", async () => {
  Object.assign(process.env, {
    AZURE_TENANT_ID: "t",
    AZURE_CLIENT_ID: "c",
    AZURE_CLIENT_SECRET: "app-password-1",
  });
  tokenResponse = {
    status: 401,
    body: { error: "invalid_client", error_description: "the secret has expired" },
  };
  const refused = await ask("azure");
  assert.equal([refused.status, refused.body.error.code], [502, "upstream_auth"]);
  assert.match(refused.body.error.message, "refused its credentials: the secret has expired");
  tokenResponse = undefined;
  assert.is((await ask("azure")).status, 200);
  const { path, form } = requests[1]!;
  assert.equal([path, form.get("client_secret")], ["/t/oauth2/v2.0/token", "app-password-1"]);
  assert.is(form.get("scope"), "https://cognitiveservices.azure.com/.default");
  assert.is(up.seen[0]!.headers.authorization, "Bearer token-number-2");
  assert.is(up.seen[0]!.headers["api-key"], undefined);
  for (const name of ["AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"])
    process.env[name] = "";
});

test("missing or wrong credentials are named", async () => {
  for (const [channel, message] of [
    ["external", /type external_account, which needs a package: npm install google-auth-library/],
    ["broken", /the private_key of its keyFile cannot be read/],
    ["identity", /AZURE_CLIENT_SECRET.*npm install @azure\/identity/],
    ["missing", /not-there\.json cannot be read/],
    ["bedrock", /AWS_ACCESS_KEY_ID .*npm install @aws-sdk\/credential-provider-node/],
  ] as const) {
    const { status, body } = await ask(channel);
    assert.equal([status, body.error.code], [502, "upstream_auth"], channel);
    assert.match(body.error.message, message);
  }
  assert.is(up.seen.length, 0);
  assert.is((await ask("azure")).status, 200, "another host than Azure's may want none");
  assert.is(up.seen[0]!.headers.authorization, undefined);
});

test.run();
