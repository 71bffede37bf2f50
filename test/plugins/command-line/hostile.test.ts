/** Control characters in names must not reach the terminal, and one Ctrl-C is one signal. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { createTerminal, escapeControls } from "../../../plugins/command-line/terminal.ts";
import {
  type InProcessGateway,
  packageDir,
  spawnGateway,
  startGateway,
} from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { porticoProgram } from "../../support/runner/bundle.ts";
import { suite } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { PATIENCE_MS, until } from "../../support/until.ts";

const test = suite<{ gateway: InProcessGateway }>("hostile names and signals");
test.before(async (context) => {
  context.gateway = await startGateway();
});
test.after((context) => context.gateway.stop());

const ODD = "a\u001b]0;owned\u0007\u001b[2J\r\u009b31m\u2028c\u2029d\u202eb";
const CONTROL = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

test("a text with control characters is shown without them, in tables, details, errors and JSON", async ({
  gateway,
}) => {
  const { home } = gateway;
  gateway.write("hooks/odd/handler.ts", "export default () => {};");
  const description = JSON.stringify(`${ODD}\nforged  row`);
  gateway.write(
    "hooks/odd/HOOK.md",
    `---\ndescription: ${description}\nevents: [gateway:startup]\n---\n`,
  );
  await gateway.json("POST", "/kernel/hooks/rescan");
  const list = await porticoHere(home, ["hooks", "list"]);
  assert.match(list.stdout, "\\u001b]0;owned\\u0007");
  assert.not.match(list.stdout, CONTROL);
  assert.not.match(list.stdout, /^forged/m);
  const json = await porticoHere(home, ["hooks", "list", "--json"]);
  assert.not.match(json.stdout, CONTROL);
  assert.match(JSON.stringify(JSON.parse(json.stdout)), "\u009b31m\u2028c\u2029d\u202eb");
  for (const words of [
    ["sessions", "show", ODD],
    [ODD],
    ["hooks", "info", ODD],
    ["status", `--${ODD}`],
  ]) {
    const { code, stdout, stderr } = await porticoHere(home, words);
    assert.not.equal(code, 0);
    assert.not.match(stdout + stderr, CONTROL);
    assert.is(stderr.trim().split("\n").length, 1);
  }
});

test("an invalid log level or number of lines is refused", async ({ gateway }) => {
  gateway.write("hooks/quiet/HOOK.md", "---\nname: quiet\nevents: gateway:startup\n---\n");
  gateway.write("hooks/quiet/handler.ts", "export default () => {};\n");
  await gateway.json("POST", "/kernel/hooks/rescan");
  for (const [path, param] of [
    ["logs?level=constructor", "level"],
    ["logs?level=loud", "level"],
    ["logs?lines=all", "lines"],
    ["logs?lines=-1", "lines"],
    ["hooks/quiet/logs?lines=all", "lines"],
    ["hooks/quiet/logs?lines=-1", "lines"],
    ["hooks/quiet/logs?lines=1e21", "lines"],
  ]) {
    const { status, body } = await gateway
      .request("GET", `/kernel/${path}`)
      .then(async (response) => ({
        status: response.status,
        body: (await response.json()) as { error: { param?: string } },
      }));
    assert.equal([status, body.error.param], [400, param]);
  }
});

test("log lines are shown without control characters, and without colours if the output is not a terminal", async ({
  gateway,
}) => {
  gateway.gateway.log.log.warn({ from: ODD }, `odd ${ODD}`);
  const { stdout } = await porticoHere(gateway.home, ["logs"]);
  assert.match(stdout, /warn {2}odd a\\u001b/);
  assert.not.match(stdout, CONTROL);
});

test("log lines are filtered by level before they are counted", async ({ gateway }) => {
  for (let i = 0; i < 4; i++) gateway.gateway.log.log.warn({}, `trouble ${i}`);
  for (let i = 0; i < 5; i++) gateway.gateway.log.log.info({}, "calm");
  const { stdout } = await porticoHere(gateway.home, [
    "logs",
    "--level",
    "warn",
    "-n",
    "3",
    "--json",
  ]);
  const entries = stdout
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
  assert.equal(entries, ["trouble 1", "trouble 2", "trouble 3"]);
});

test("reports of commands are true: a new hook, a poll, unknown prices, options", async ({
  gateway,
}) => {
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await porticoHere(gateway.home, words);
    assert.is(code, 0, `${words.join(" ")}: ${stderr}`);
    return stdout;
  };
  const output = await run("hooks", "new", "fresh", "--event", "gateway:startup");
  assert.not.match(output, /will run|next start|when the gateway/i);
  gateway.write("workspace/watched.txt", "one");
  await run("polls", "add", "p", "--path", "watched.txt", "--every", "1h", "--text", "x");
  await run("polls", "run", "p");
  const plugin = (body: string) =>
    `import { definePlugin } from "portico";\nexport default definePlugin({ name: "costly", setup(ctx) {\n  ${body}\n} });\n`;
  const usage = "usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }";
  const completion = `{ id: "x", object: "chat.completion", created: 1, model: "zz", choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }], ${usage} }`;
  const good = `ctx.add("provider", { name: "costly", builtinChannel: "costly", complete: async () => (${completion}) });`;
  gateway.write("plugins/costly/plugin.ts", plugin(good));
  await gateway.json("POST", "/kernel/plugins/rescan");
  await gateway.json("POST", "/v1/chat/completions", {
    model: "costly/zz",
    messages: [{ role: "user", content: "x" }],
  });
  const costs = await until("the usage", async () => {
    const text = await run("usage");
    return text.includes("zz") ? text : undefined;
  });
  assert.not.match(costs, /zz.*\$0\.00/);
  gateway.write(
    "plugins/thrower/plugin.ts",
    plugin('throw new Error("no luck");').replace("costly", "thrower"),
  );
  await gateway.json("POST", "/kernel/plugins/rescan");
  assert.match(await run("plugins", "info", "thrower"), "plugin.ts:3");
});

test("no help lists an option twice; the --url of a command mentions that of the gateway", async ({
  gateway,
}) => {
  const walk = async (words: string[]): Promise<string[][]> => {
    const { stdout } = await porticoHere(gateway.home, [...words, "--help"]);
    const [, listed = ""] = /\nCommands:\n((?: {2}.*\n?)*)/.exec(stdout) ?? [];
    const options = stdout
      .split("\n")
      .flatMap((line) => /^ {2}(?:-\w, )?(--[\w-]+)/.exec(line)?.[1] ?? []);
    assert.equal(options, [...new Set(options)], words.join(" "));
    if (/^ {2}--url ADDRESS/m.test(stdout))
      assert.match(stdout, "put --url before the command's name to pass the gateway's address");
    const below = [...listed.matchAll(/^ {2}([\w-]+)/gm)].map(([, name = ""]) =>
      walk([...words, name]),
    );
    return [words, ...(await Promise.all(below)).flat()];
  };
  const all = await walk([]);
  for (const command of ["browser wait", "polls add", "polls edit", "hooks new"])
    assert.ok(
      all.some((words) => words.join(" ") === command),
      command,
    );
});

test("a terminal receives no colours and cursor movements except those of Portico", () => {
  let out = "";
  let err = "";
  const terminal = createTerminal(
    {
      isTTY: true,
      write: (text) => {
        out += text;
      },
    },
    {
      isTTY: true,
      write: (text) => {
        err += text;
      },
    },
  );
  terminal.print("\u001b[31mred", "warn");
  terminal.progress("50\u0007 %");
  terminal.printError("bad\u009b");
  assert.is(out, "\u001b[33m\\u001b[31mred\u001b[0m\n");
  assert.is(err, "\r\u001b[2K50\\u0007 %\r\u001b[2Kbad\\u009b\n");
});

test("sanitized JSON is equivalent to the original", () => {
  const value = { a: [ODD, "\u007f\u0085\u2066"], "k\u0090": "\t\n" };
  for (const indent of [undefined, 2]) {
    const text = escapeControls(JSON.stringify(value, null, indent));
    assert.not.match(text, CONTROL);
    assert.equal(JSON.parse(text), value);
  }
});

test("simultaneous signals count as one and let a running stream end, and a later signal stops at once", async () => {
  const held: (() => void)[] = [];
  const upstream = createServer((req, res) => {
    req.resume();
    held.push(() => {
      res.setHeader("content-type", "application/json");
      res.end(
        '{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}',
      );
    });
  });
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const { port } = upstream.address() as AddressInfo;
  const config = {
    gateway: { port: 0, shutdownTimeoutMs: PATIENCE_MS },
    channels: { up: { provider: "openai", baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "k" } },
  };
  const [patient, hasty] = await Promise.all([spawnGateway({ config }), spawnGateway({ config })]);
  try {
    const ask = (gateway: typeof patient) =>
      gateway.request("POST", "/v1/chat/completions", {
        model: "up/m",
        messages: [{ role: "user", content: "hi" }],
      });
    const response = ask(patient);
    void ask(hasty).catch(() => {});
    await until("both requests", () => held.length === 2);
    for (const gateway of [patient, hasty]) {
      // Of two kinds: two of one kind, sent at once, are one to the system already. Stopped, it gets both together,
      // however long this process takes between them.
      for (const signal of ["SIGSTOP", "SIGINT", "SIGTERM", "SIGCONT"] as const)
        gateway.child.kill(signal);
      await until("the stop", () => gateway.output().includes("portico is stopping"));
    }
    for (const gateway of [patient, hasty]) assert.is(gateway.child.exitCode, null);
    // Again until one counts: how soon that is depends on when the gateway has seen the first.
    await until("its end", () => !hasty.child.kill("SIGTERM"));
    if (hasty.child.exitCode === null) await once(hasty.child, "exit");
    assert.is(hasty.child.exitCode, 143);
    for (const release of held) release();
    assert.is((await response).status, 200);
    if (patient.child.exitCode === null) await once(patient.child, "exit");
    assert.is(patient.child.exitCode, 0);
  } finally {
    await Promise.all([patient.stop(), hasty.stop()]);
    upstream.close();
  }
});

test("process.exit in a hook or plugin is an error of that extension, and does not stop the gateway", async () => {
  const exit = "process.exit(3);";
  const hook = `import { exit } from "node:process";
    setTimeout(() => { ${exit} });
    export default async (event) => {
      const at = event.context.content;
      if (at === "at once") exit(3);
      await null;
      if (at === "later") ${exit}
      if (at === "in a timer") await new Promise((resolve) => setTimeout(() => { setTimeout(resolve); exit(3); }));
    };`;
  const plugin = (name: string, inSetup: string) => `import { definePlugin } from "portico";
    export default definePlugin({ name: "${name}", setup(ctx) { ${inSetup} } });`;
  const files = {
    "hooks/leaves/HOOK.md": "---\nevents: [message:received]\n---\n",
    "hooks/leaves/handler.ts": hook,
    "plugins/leaver/plugin.ts": plugin("leaver", exit),
    "plugins/quitter/plugin.ts": plugin(
      "quitter",
      `ctx.route("GET", "/quit", { access: "public" }, () => { ${exit} }); ctx.defer(() => { ${exit} });`,
    ),
  };
  const own = await spawnGateway({ files });
  try {
    for (const content of ["at once", "later", "in a timer"]) {
      const { choices } = await own.json("POST", "/v1/chat/completions", {
        model: "echo",
        messages: [{ role: "user", content }],
      });
      assert.is(choices[0].message.content, content);
    }
    assert.is((await fetch(`${own.url}/quit`)).status, 500);
    assert.match(
      (await own.json("GET", "/kernel/plugins/leaver")).error,
      /plugin:leaver called process\.exit/,
    );
    const { failures, lastError } = await own.json("GET", "/kernel/hooks/leaves");
    assert.is(failures, 3);
    assert.match(lastError.message, /hook:leaves called process\.exit/);
  } finally {
    await own.stop();
  }
  assert.is(own.child.exitCode, 0);
});

test("a signal during the start ends the process with code 0", async () => {
  const home = temporaryDir("portico-early-");
  mkdirSync(join(home, "plugins/slow"), { recursive: true });
  writeFileSync(join(home, "portico.json"), "{ gateway: { port: 0 } }");
  const slow = `import { definePlugin } from "portico";
export default definePlugin({ name: "slow", async setup() { console.log("it waits"); await new Promise(() => {}); } });`;
  writeFileSync(join(home, "plugins/slow/plugin.ts"), slow);
  const args = [...porticoProgram(), "start", "--home", home];
  const child = spawn(process.execPath, args, {
    cwd: packageDir,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  await until("the start to be under way", () => output.includes("it waits"));
  child.kill("SIGINT");
  assert.equal(await exited, [0, null]);
});

// A terminal's Ctrl-C reaches npm, its shell and the gateway; npm passes it on once more.
test("npm start ends with code 0 after one Ctrl-C", async () => {
  const home = temporaryDir("portico-npm-");
  writeFileSync(
    join(home, "portico.json"),
    "{ gateway: { port: 0 }, browser: { enabled: false } }",
  );
  const npm = spawn("npm", ["start"], {
    cwd: packageDir,
    env: { ...process.env, PORTICO_HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of [npm.stdout, npm.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
    });
  const exited = once(npm, "exit");
  await until("the start", () => output.includes("portico is running"));
  process.kill(-(npm.pid as number), "SIGINT");
  assert.equal(await exited, [0, null], output);
});

test.run();
