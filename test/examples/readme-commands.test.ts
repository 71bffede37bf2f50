/**
 * Every command of every README is run, by a shell, in the order of its page, against one gateway. `elsewhere` names
 * those that are not, and why; whatever is new is run. That a command is there with its options holds for all of them.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import * as assert from "uvu/assert";
import type { Command } from "portico/command-line";
import { openHome } from "../../kernel/program/home.ts";
import { loaderFor } from "../../kernel/package-loader.ts";
import { findCommand, parseWords } from "../../plugins/command-line/parse.ts";
import start from "../../plugins/command-line/start/command.ts";
import { startGateway } from "../support/gateway.ts";
import { porticoHere } from "../support/portico.ts";
import { type ReadmeCommand, readmeCommands, wordsOf } from "../support/sources/readme-commands.ts";
import { suite } from "../support/suite.ts";
import { temporaryDir } from "../support/temporary.ts";
import { completion } from "../support/upstreams/upstream.ts";

/** What begins so, or stands in that README, is run by the test named, or by nobody. */
const elsewhere: Record<string, string> = {
  "examples/deploy/README.md":
    "test/examples/deploy: the files and scripts; containers, users and units need root",
  "plugins/docs/guides/add-a-provider.md":
    "test/plugins/provider-openai and provider-ollama, where there are upstreams",
  "plugins/docs/guides/nginx-workers-postgresql.md":
    "test/examples/deploy runs nginx, test/plugins/store PostgreSQL; the page needs root",
  "plugins/docs/guides/back-up.md": "test/examples/deploy, with a home that has something in it",
  "plugins/docs/guides/postgresql.md": "test/plugins/store, where there is a database",
  "portico config set channels.local": "test/plugins/provider-ollama, where Ollama answers",
  "portico channels test local": "test/plugins/provider-ollama, where Ollama answers",
  "cp -r examples/hooks/redact": "test/examples/examples.test.ts",
  "portico hooks info redact": "test/examples/examples.test.ts",
  "portico hooks run redact": "test/examples/examples.test.ts",
  "git pull": "nobody: the checkout is what is tested",
  "npm install": ".ci/run, before every test",
  "npm install pg": "test/plugins/store/postgres, where it is installed",
  "portico doctor": "test/plugins/management/doctor.test.ts, with a home that is sound",
  "portico logs --follow": "test/plugins/management/log.test.ts; it does not end",
  "npm start": "every test that spawns a gateway",
  "npx tsx examples/webhook-github/send.ts": "test/examples/examples.test.ts",
  "portico sessions show webhook:issue:portico:7": "test/examples/examples.test.ts",
  "portico webhooks tail": "test/plugins/webhooks/deliveries.test.ts; it does not end",
  "portico browser open https://example.com": "test/plugins/browser, where there is a page",
  "portico polls test releases": "test/plugins/polls, where there is a source",
  "portico polls run releases": "test/plugins/polls, where there is a source",
  "PORTICO_TOKEN=<the gateway's token> portico node": "test/plugins/nodes; it does not end",
  "ANTHROPIC_BASE_URL=http://127.0.0.1:18789":
    "a program of others; test/clients speaks its protocol",
};

const commands = readmeCommands();
const isElsewhere = ({ readme, text }: ReadmeCommand, name: string) =>
  readme === name || text.startsWith(name);
const isRun = (command: ReadmeCommand) =>
  command.kind === "shell" && !Object.keys(elsewhere).some((name) => isElsewhere(command, name));

const test = suite("commands of the READMEs");

test("each command exists with its options", async () => {
  const home = temporaryDir("portico-readme-");
  const definitions = await openHome({ home }, {}, loaderFor).definitions();
  const known = new Map<string, Command>([["start", start]]);
  for (const [word, load] of definitions.flatMap(({ commands }) => Object.entries(commands ?? {})))
    known.set(word, (await load()).default);
  const problems = commands.flatMap((command) => {
    const problem = problemOf(command, known);
    return problem === undefined ? [] : [`${command.readme}: ${command.text}: ${problem}`];
  });
  assert.equal(problems, []);
});

function problemOf(
  { text, kind }: ReadmeCommand,
  known: ReadonlyMap<string, Command>,
): string | undefined {
  const [, line] = /(?:^|\$\(|> )portico ([^…]*?)\)?(?:…|$)/.exec(text) ?? [];
  const [word = "", ...words] = wordsOf((line ?? "").replace(/[|>].*$/, ""));
  if (line === undefined || /^(?:-.*|[A-Z]*)$/.test(word)) return undefined;
  const command = known.get(word);
  if (!command) return "there is no such command";
  try {
    const match = findCommand(command, words);
    if (match.command.run) parseWords(match.command, ["portico", ...match.path], match.words);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    // A text in a sentence may name a command without its arguments.
    const isTolerated = kind === "inline" && !/no command|no option/.test(message);
    return isTolerated ? undefined : message;
  }
}

test("every exception for a command run elsewhere still applies", () => {
  for (const name of Object.keys(elsewhere))
    assert.ok(
      commands.some((command) => command.kind === "shell" && isElsewhere(command, name)),
      name,
    );
});

test("all other commands run", async () => {
  const upstream = await listening((_req, res) => {
    res.setHeader("content-type", "application/json");
    res.end(JSON.stringify({ ...completion("Hello"), text: "Hello" }));
  });
  const channel = {
    provider: "openai",
    baseUrl: `${urlOf(upstream)}/v1`,
    apiKey: "k",
    models: ["served-by-*"],
  };
  const names = ["main", "local", "azure", "claude", "mistral", "gemini", "bedrock"];
  const gateway = await startGateway({
    config: {
      channels: Object.fromEntries(names.map((name) => [name, channel])),
      models: { smart: "echo" },
      agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
      deliveries: { retryMs: [1] },
    },
  });
  // A shell's `portico` in this process: a process for each would take a second.
  const shim = await listening((req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", async () => {
      const words = Buffer.concat(parts).toString().split("\0").slice(0, -1);
      const { code, stdout, stderr } = await porticoHere(gateway.home, words);
      res.writeHead(code === 0 ? 200 : 500).end(code === 0 ? stdout : stderr);
    });
  });
  try {
    const prepared = await prepare(gateway);
    for (const readme of new Set(commands.map((command) => command.readme))) {
      const lines = commands
        .filter((command) => command.readme === readme && isRun(command))
        .map(({ text }) => text);
      if (lines.length > 0) await runAll(readme, await prepared(readme, lines));
    }
  } finally {
    await gateway.stop();
    for (const server of [shim, upstream]) {
      server.closeAllConnections();
      server.close();
    }
  }

  function runAll(readme: string, lines: readonly string[]): Promise<void> {
    const home = gateway.home.replace(/[^\w/.-]/g, "\\$&"); // it may have a space
    const script = [
      "set -eE -o pipefail",
      `trap 'echo "in ${readme}: $BASH_COMMAND" >&2' ERR`,
      'curl() { command curl -sS --fail-with-body --max-time 20 "$@"; }',
      `portico() { printf '%s\\0' "$@" | curl --data-binary @- ${urlOf(shim)}; }`,
      ...lines.map((line) =>
        line.replaceAll("http://127.0.0.1:18789", gateway.url).replaceAll("~/.portico", home),
      ),
    ].join("\n");
    const env = {
      ...process.env,
      PORTICO_TOKEN: gateway.token,
      TOKEN: gateway.token,
      WEBHOOK_TOKEN: "hook-token",
    };
    return new Promise((resolve, reject) =>
      execFile("bash", ["-c", script], { env, cwd: gateway.home }, (error, stdout, stderr) =>
        error ? reject(new Error(`${stderr}\n${stdout.slice(-1500)}`)) : resolve(),
      ),
    );
  }
});

type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** What a page takes for granted: its configuration, a delivery, a file. Names of such things are put in. */
async function prepare(gateway: Gateway) {
  writeFileSync(join(gateway.home, "speech.mp3"), "a voice");
  mkdirSync(join(gateway.home, "workspace", "inbox"), { recursive: true });
  const dead = await listening((_req, res) => void res.writeHead(410).end());
  const result = { message: "x", wait: true, delivery: { url: urlOf(dead) } };
  const { turnId } = await gateway.json("POST", "/agent", result);
  await gateway.json("POST", "/v1/chat/completions", {
    model: "echo",
    messages: [{ role: "user", content: "x" }],
  });
  return async (readme: string, lines: string[]): Promise<string[]> => {
    if (readme === "kernel/hooks/README.md")
      await porticoHere(gateway.home, ["hooks", "rm", "hello"]);
    if (readme === "plugins/webhooks/README.md") {
      const github = { match: { "body.action": "opened" }, message: "{body.issue.title}" };
      await configured(gateway, "webhooks.token", "hook-token");
      await configured(gateway, "webhooks.mappings.github", github);
    }
    const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?outcome=accepted");
    const rowId: string = readme.includes("webhook") ? deliveries[0]?.id : turnId;
    return lines.map((line) => line.replace("7585e9", rowId?.slice(-8) ?? ""));
  };
}

async function configured(gateway: Gateway, key: string, value: unknown): Promise<void> {
  const { code, stderr } = await porticoHere(gateway.home, [
    "config",
    "set",
    key,
    JSON.stringify(value),
  ]);
  assert.is(code, 0, stderr);
}

async function listening(handler: Parameters<typeof createServer>[1]): Promise<Server> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server.unref();
}

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test.run();
