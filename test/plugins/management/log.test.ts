/** A followed log misses no line and repeats none. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Call } from "portico";
import * as assert from "uvu/assert";
import { mountLogRoute } from "../../../plugins/management/routes/log.ts";
import { test } from "../../support/suite.ts";

const line = (msg: string) => JSON.stringify({ level: "info", msg });

test("lines that are logged while other workers write their last lines come after those", async () => {
  const followers = new Set<(line: string) => void>();
  const write = (msg: string) => followers.forEach((follow) => void follow(line(msg)));
  let handle = (_call: Call): unknown => undefined;
  const log = {
    follow(take: (line: string) => void) {
      followers.add(take);
      return () => void followers.delete(take);
    },
  };
  const lines = async () => {
    const recent = [line("before")];
    write("in both");
    recent.push(line("in both"));
    write("meanwhile"); // this worker has said its own by now, and waits for the others
    return recent;
  };
  const mount = {
    add: () => () => {},
    on() {},
    route: (_method: string, _path: string, _options: object, handler: typeof handle) => {
      handle = handler;
    },
  };
  mountLogRoute(mount as never, { log }, { lines });
  const server = createServer((req, res) => {
    const input = async () => ({ lines: 100, level: "trace", follow: "true" });
    void handle({ req, res, input } as unknown as Call);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/kernel/logs?follow=true`);
  write("after");
  let text = "";
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.includes("after")) break;
  }
  assert.equal(
    [...text.matchAll(/"msg":"([^"]*)"/g)].map(([, msg]) => msg),
    ["before", "in both", "meanwhile", "after"],
  );
  server.closeAllConnections();
  server.close();
});

test.run();
