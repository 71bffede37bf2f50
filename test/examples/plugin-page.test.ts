/** Every example of the page for authors of plugins type-checks outside the checkout, and runs. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { editorConfig } from "../../plugins/management/commands/editor-config.ts";
import { packageDir, startGateway } from "../support/gateway.ts";
import { suite } from "../support/suite.ts";
import { temporaryDir } from "../support/temporary.ts";

const page = readFileSync(join(packageDir, "kernel/plugins/README.md"), "utf8");
const examples = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = ""]) => ({
  name: /name: "([\w-]+)",\n/.exec(text.slice(text.indexOf("definePlugin({")))?.[1] ?? "",
  text,
}));
const files = Object.fromEntries(
  examples.map(({ name, text }) => [`plugins/${name}/plugin.ts`, text]),
);

const test = suite("the page for authors of plugins");

test("the page's examples type-check in a folder outside the checkout", () => {
  assert.ok(examples.length >= 6, `${examples.length} examples`);
  const root = temporaryDir("portico-page-");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  writeFileSync(join(root, "tsconfig.json"), editorConfig(packageDir));
  const tsc = join(packageDir, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", root, "--pretty", "false"], {
    encoding: "utf8",
  });
  assert.is(stdout, "");
});

test("the page's examples run, and the provider responds", async () => {
  const upstream = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk) => {
      body += chunk;
    });
    req.on("end", () => {
      const { prompt, stream } = JSON.parse(body);
      const message = { text: `${req.headers.authorization} ${prompt}` };
      const end = { end: true, tokens: [3, 4] };
      if (stream) res.setHeader("content-type", "application/x-ndjson");
      res.end(
        stream
          ? `${JSON.stringify(message)}\n${JSON.stringify(end)}\n`
          : JSON.stringify({ ...message, ...end }),
      );
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const gateway = await startGateway({
    files,
    config: { channels: { mine: { provider: "plain", baseUrl, apiKey: "my-key" } } },
  });
  try {
    const { plugins } = await gateway.json<{
      plugins: { name: string; state: string; error?: string }[];
    }>("GET", "/kernel/plugins");
    for (const { name } of examples) {
      const record = plugins.find((plugin) => plugin.name === name);
      assert.is(record?.state, "active", `${name}: ${record?.error}`);
    }
    assert.equal(await gateway.json("GET", "/greet/Ada"), { text: "Hello Ada, says world" });
    assert.is((await gateway.request("GET", "/greet/nobody")).status, 404);
    await gateway.json("POST", "/count");
    assert.equal(await gateway.json("POST", "/count"), { count: 2 });
    const messages = [{ role: "user", content: "hi" }];
    const completion = await gateway.json("POST", "/v1/chat/completions", {
      model: "mine/any",
      messages,
    });
    assert.is(completion.choices[0].message.content, "Bearer my-key hi");
    assert.is(completion.usage.total_tokens, 7);
    const parrot = await gateway.json("POST", "/v1/chat/completions", {
      model: "parrot",
      messages,
    });
    assert.is(parrot.choices[0].message.content, 'You said "hi"');
    const streamed = await gateway.request("POST", "/v1/chat/completions", {
      model: "mine/any",
      messages,
      stream: true,
    });
    assert.match(await streamed.text(), /Bearer my-key hi[\s\S]*data: \[DONE\]/);
  } finally {
    await gateway.stop();
    upstream.close();
  }
});

test.run();
