/** What real client programs have sent (`npm run clients`), over upstreams that refuse what their providers refuse. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { startGateway } from "../support/gateway.ts";
import { suite } from "../support/suite.ts";
import { anthropic } from "../support/upstreams/anthropic.ts";
import { bedrock } from "../support/upstreams/bedrock.ts";
import type { Dialect } from "../support/upstreams/dialect.ts";
import { gemini } from "../support/upstreams/gemini.ts";
import { mistral } from "../support/upstreams/mistral.ts";
import { openai } from "../support/upstreams/openai.ts";
import { startProvider } from "../support/upstreams/server.ts";
import type { Recording } from "./recorder.ts";

const test = suite("recorded clients");
const dialects: readonly Dialect[] = [openai, anthropic, gemini, bedrock, mistral];
const dir = join(import.meta.dirname, "recordings");
const END = /event: (?:message_stop|response\.completed)\n/;

for (const file of readdirSync(dir))
  for (const dialect of dialects)
    test(`${file} over ${dialect.name}`, async () => {
      const up = await startProvider(dialect);
      const channel = { ...dialect.channel(up.root), maxRetries: 0 };
      const gateway = await startGateway({ config: { channels: { up: channel } } });
      try {
        up.next = { answer: { text: ["Done."] } };
        const requests = JSON.parse(readFileSync(join(dir, file), "utf8")) as Recording[];
        assert.ok(requests.length > 1, "several requests");
        for (const { method, path, headers, body } of requests) {
          const asked = { ...(body as object), model: `up/${dialect.model}` };
          const response = await gateway.request(method, path, asked, { headers });
          const text = await response.text();
          assert.is(response.status, 200, text);
          assert.is(END.test(text), (body as { stream?: boolean }).stream === true, text);
        }
        assert.is(up.views.length, up.seen.length, "the upstream has refused nothing");
      } finally {
        await gateway.stop();
        await up.close();
      }
    });

test.run();
