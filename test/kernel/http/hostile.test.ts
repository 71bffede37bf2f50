/** Links, pages and heads of strangers; and whether reading them takes time in line with their size. */
import { bearerOf, checkJsonType, occursTwice, parseJson } from "portico";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { addressOf, callerOf, parseNetworks } from "../../../kernel/net/address.ts";
import { endBroken } from "../../../kernel/http/protocol-errors.ts";
import { createErrorForms } from "../../../kernel/http/response/errors.ts";
import { createRouter } from "../../../kernel/http/router.ts";
import { assertLinear } from "../../support/growth.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { ask, codeOf } from "../../support/raw-http.ts";
import { startRoutes, stopRoutes } from "../../support/routes.ts";

test.after(stopRoutes);

const link = {
  "sec-fetch-site": "cross-site",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};

test("a link of another site leads to the public page, and to nothing else", async () => {
  const one = await startRoutes();
  one.route("GET", "/", { access: "public" }, () => "page");
  one.route("POST", "/", { access: "public" }, () => "posted");
  one.route("GET", "/other", { access: "public" }, () => "other");
  one.route("GET", "/data", { access: "gateway" }, () => "data");
  for (const site of ["cross-site", "same-site"])
    assert.is((await ask(one, "GET", "/", { ...link, "sec-fetch-site": site })).status, 200, site);
  const rows: [string, string, Record<string, string>][] = [
    ["another path", "/other", {}],
    ["data", "/data", { authorization: "Bearer right-token" }],
    ["nothing", "/missing", {}],
    ["a frame", "/", { "sec-fetch-dest": "iframe" }],
    ["an object", "/", { "sec-fetch-dest": "object" }],
    ["an image", "/", { "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" }],
    ["a fetch", "/", { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }],
    ["a form", "/", { origin: "http://evil.test" }],
    ["no mode", "/", { "sec-fetch-mode": "" }],
  ];
  for (const [what, path, headers] of rows) {
    const answer = await ask(one, "GET", path, { ...link, ...headers });
    assert.is(answer.status, 403, what);
    assert.is(codeOf(answer), "forbidden_origin", what);
  }
  for (const method of ["POST", "HEAD", "PUT"])
    assert.is((await ask(one, method, "/", link)).status, 403, method);
});

test("a page that is not public is not to be linked to", async () => {
  const one = await startRoutes();
  one.route("GET", "/", { access: "control" }, () => "state");
  assert.is((await ask(one, "GET", "/", link)).status, 403);
});

test("heads, addresses and bodies take time in line with their size", () => {
  const from = (forwarded: string): IncomingMessage =>
    ({
      socket: { remoteAddress: "10.0.0.1" },
      headers: { "x-forwarded-for": forwarded },
    }) as unknown as IncomingMessage;
  const proxies = ["10.0.0.0/8"];
  assertLinear(
    "X-Forwarded-For",
    2000,
    (size) => "10.0.0.1,".repeat(size / 9),
    (text) => addressOf(from(text), proxies),
  );
  assertLinear(
    "its commas",
    2000,
    (size) => ",".repeat(size),
    (text) => addressOf(from(text), proxies),
  );
  assertLinear(
    "its brackets",
    2000,
    (size) => "[".repeat(size),
    (text) => addressOf(from(text), proxies),
  );
  assertLinear("an address", 2000, (size) => "1:".repeat(size), callerOf);
  assertLinear(
    "a network",
    2000,
    (size) => `10.0.0.0${"/8".repeat(size)}`,
    (text) => parseNetworks([text]),
  );
  assertLinear("a bearer", 20_000, (size) => `Bearer ${" x".repeat(size)}`, bearerOf);
  assertLinear(
    "headers",
    20_000,
    (size) => Array.from({ length: size }, () => "authorizatiom"),
    (names) => occursTwice(names, "authorization"),
  );
  const typed = (type: string) =>
    checkJsonType({ headers: { "content-type": type, "content-length": "1" } } as IncomingMessage);
  assertLinear(
    "a content type",
    10_000,
    (size) => `application/${"a+json".repeat(size / 6)}`,
    typed,
  );
  assertLinear("its spaces", 10_000, (size) => `application/json${" ".repeat(size)}x`, typed);
  assertLinear(
    "its parameters",
    10_000,
    (size) => `application/json${";charset=utf-8 ".repeat(size / 15)}`,
    typed,
  );
  const json = (text: string) => parseJson(Buffer.from(text));
  assertLinear("a deep body", 100_000, (size) => "[".repeat(size), json);
  assertLinear("a wide body", 100_000, (size) => `[${"[],".repeat(size / 3)}[]]`, json);
  assertLinear("escapes", 100_000, (size) => `["${"\\u005f".repeat(size / 6)}"]`, json);
  assertLinear(
    "keys",
    100_000,
    (size) => `{"__proto__":1${',"\\u005f_proto__":1'.repeat(size / 20)}}`,
    json,
  );
  const router = createRouter<string>();
  for (const path of ["/a/:b/c/:d", "/files/*", "/x/:y?", "/:a/:b/:c"])
    router.add("GET", path, path);
  assertLinear(
    "a path",
    4000,
    (size) => "/a".repeat(size / 2),
    (path) => router.find("GET", path),
  );
  assertLinear(
    "its slashes",
    4000,
    (size) => "/".repeat(size),
    (path) => router.find("GET", path),
  );
});

test("a handshake that comes to no end ends its connection", () => {
  for (const code of ["ERR_TLS_HANDSHAKE_TIMEOUT", "ERR_SSL_HTTP_REQUEST", "ECONNRESET"]) {
    const socket = new PassThrough();
    endBroken(
      Object.assign(new Error("broken"), { code }),
      socket,
      { count: 0, sent: 0 },
      createErrorForms(quietLog()),
    );
    assert.ok(socket.destroyed, code);
  }
});

test.run();
