/** What reads heads, addresses and bodies takes no longer than in line with its input's size. */
import type { IncomingMessage } from "node:http";
import { bearerOf, checkJsonType, compile, occursTwice, parseJson, Type } from "portico";
import { createRouter } from "../../../kernel/http/router.ts";
import { findCallerAddress, getCallerKey, parseNetworks } from "../../../kernel/net/address.ts";
import { assertLinear } from "../../support/growth.ts";
import { test } from "../../support/suite.ts";

test("heads, URLs and bodies take time in proportion to their size", () => {
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
    (text) => findCallerAddress(from(text), proxies),
  );
  assertLinear(
    "its commas",
    2000,
    (size) => ",".repeat(size),
    (text) => findCallerAddress(from(text), proxies),
  );
  assertLinear(
    "its brackets",
    2000,
    (size) => "[".repeat(size),
    (text) => findCallerAddress(from(text), proxies),
  );
  assertLinear("an address", 2000, (size) => "1:".repeat(size), getCallerKey);
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
  assertLinear(
    "long numbers",
    100_000,
    (size) => `[${"9007199254740993,".repeat(size / 17)}1]`,
    json,
  );
  assertLinear("a number of many digits", 100_000, (size) => `[${"7".repeat(size)}]`, json);
  const check = compile(Type.Object({ list: Type.Array(Type.Unknown()) }));
  assertLinear(
    "a check of long numbers",
    1000,
    (size) => ({ list: json(`[${"9007199254740993,".repeat(size)}1]`) }),
    (body) => check.parse(body),
  );
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

test.run();
