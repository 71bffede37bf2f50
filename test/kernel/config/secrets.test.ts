import { Type } from "@sinclair/typebox";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  isSecretHeader,
  isSecretName,
  maskSecrets,
  collectSecrets,
} from "../../../kernel/config/secrets.ts";
import { maskNamed } from "../../../plugins/strings/mask.ts";

const config = {
  gateway: { port: 1, auth: { token: "t1", password: "p1" } },
  channels: {
    a: {
      apiKey: ["k1", "k2"],
      baseUrl: "https://user:pw@host/v1",
      headers: { Authorization: "Bearer x", "x-api-key": "k3", accept: "json" },
    },
  },
  webhooks: {
    keys: { ci: { token: "t2", paths: ["wake"] }, short: "t3" },
    mappings: { gh: { verify: { secret: ["s1"] } } },
  },
  hooks: { entries: { h: { env: { GITHUB_TOKEN: "g1", REGION: "eu" } } } },
  browser: { profiles: { far: { cdpUrl: "wss://host/?token=c1&x=1" } } },
  agents: { defaults: { maxTokens: 5, model: "echo" } },
  store: { url: "postgres://me:pg@db/portico" },
  odd: { seed: "s2" },
};
const schema = Type.Object({ odd: Type.Object({ seed: Type.String({ secret: true }) }) });

test("only secrets are masked", () => {
  const mask = "********";
  assert.equal(maskSecrets(config, schema), {
    gateway: { port: 1, auth: { token: mask, password: mask } },
    channels: {
      a: {
        apiKey: [mask, mask],
        baseUrl: `https://${mask}@host/v1`,
        headers: { Authorization: mask, "x-api-key": mask, accept: "json" },
      },
    },
    webhooks: {
      keys: { ci: { token: mask, paths: ["wake"] }, short: mask },
      mappings: { gh: { verify: { secret: [mask] } } },
    },
    hooks: { entries: { h: { env: { GITHUB_TOKEN: mask, REGION: "eu" } } } },
    browser: { profiles: { far: { cdpUrl: `wss://host/?token=${mask}&x=1` } } },
    agents: { defaults: { maxTokens: 5, model: "echo" } },
    store: { url: `postgres://${mask}@db/portico` },
    odd: { seed: mask },
  });
});

test("a part is masked by its path in the whole", () => {
  assert.is(maskSecrets("t1", undefined, ["gateway", "auth", "token"]), "********");
  assert.is(maskSecrets("s2", schema, ["odd", "seed"]), "********");
  assert.is(maskSecrets("echo", undefined, ["agents", "defaults", "model"]), "echo");
});

test("every secret is registered with the log", () => {
  const secrets = collectSecrets(config, schema);
  for (const secret of [
    "t1",
    "p1",
    "k1",
    "k2",
    "k3",
    "pw",
    "Bearer x",
    "t2",
    "t3",
    "s1",
    "g1",
    "c1",
    "pg",
    "s2",
  ]) {
    assert.ok(secrets.includes(secret), secret);
  }
  for (const plain of ["echo", "eu", "wake", "json"]) assert.not.ok(secrets.includes(plain), plain);
});

test("a secret is recognised by its name", () => {
  const names = [
    "token",
    "X-Access-Token",
    "client_secret",
    "apiKey",
    "password",
    "passwd",
    "auth",
    "X-Auth",
    "cookies",
  ];
  for (const name of [...names, "Authorization", "x-hub-signature-256"])
    assert.ok(isSecretName(name), name);
  for (const name of ["author", "authority", "key", "session", "content-type"])
    assert.not.ok(isSecretName(name), name);
  assert.ok(isSecretHeader("X-Key"));
  assert.not.ok(isSecretHeader("accept"));
});

test("values in a list or object with a secret's name are masked too, but numbers and empty strings are not", () => {
  const at = new Date(0);
  assert.equal(
    maskNamed({
      tokens: ["a", { b: "c" }],
      usage: { total_tokens: 3 },
      author: { login: "me" },
      password: "",
      at,
    }),
    {
      tokens: ["********", { b: "********" }],
      usage: { total_tokens: 3 },
      author: { login: "me" },
      password: "",
      at,
    },
  );
});

test.run();
