/** Files of types that Google's own package reads: what goes wrong there is the gateway's, not the request's. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { isPorticoError } from "portico";
import { createGoogleCredential } from "../../../plugins/provider-gemini/google-credentials.ts";
import { test } from "../../support/suite.ts";
import { makeTarget } from "../../support/target.ts";
import { temporaryDir } from "../../support/temporary.ts";

const keyFile = join(temporaryDir(), "external.json");
writeFileSync(keyFile, '{"type":"external_account"}');

function tokenFrom(getAccessToken: () => Promise<string | null>) {
  const GoogleAuth = class {
    getAccessToken = getAccessToken;
  };
  const credential = createGoogleCredential({
    env: {},
    now: Date.now,
    library: async () => ({ GoogleAuth }),
  });
  return Promise.resolve(
    credential(makeTarget({ channel: "vertex", options: { project: "p", keyFile } })),
  );
}

test("a token of the package", async () => {
  assert.equal(await tokenFrom(async () => "sts-1"), { token: "sts-1" });
});

test("a token server that refuses is no 400 of the request, and no path is shown", async () => {
  const refused = Object.assign(new Error("invalid_grant: nobody knows it\n  more"), {
    status: 400,
  });
  const missing = new Error(
    "The file at /home/someone/secrets/subject does not exist (https://a.example/v1/token)",
  );
  for (const [failing, reason, pattern] of [
    [async () => Promise.reject(refused), /invalid_grant: nobody knows it/, /more/],
    [async () => Promise.reject(missing), /a\.example\/v1\/token/, /someone|secrets|subject/],
    [async () => null, /vertex/, /undefined/],
  ] as const) {
    const error: unknown = await tokenFrom(failing).catch((thrown: unknown) => thrown);
    assert.ok(isPorticoError(error));
    assert.equal([error.code, error.status], ["upstream_auth", 502]);
    assert.match(error.message, reason);
    assert.not.match(error.message, pattern);
  }
});

test.run();
