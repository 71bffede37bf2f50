/** Two gateways over one PostgreSQL behind nginx and Caddy, as `examples/deploy` sets them up. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { Agent, request, setGlobalDispatcher } from "undici";
import * as assert from "uvu/assert";
import { localhost } from "../../support/machine/certificates.ts";
import { freePort } from "../../support/free-port.ts";
import { makeHome, type SpawnedGateway, spawnGateway } from "../../support/gateway.ts";
import { isRetryable, startPostgres, type TestPostgres } from "../../support/machine/postgres.ts";
import { suite } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { findOrUnpack } from "../../support/machine/unpacked.ts";
import { PATIENCE_MS, until } from "../../support/until.ts";
import { chunk, DONE, startUpstream, type Upstream } from "../../support/upstreams/upstream.ts";
import { deployDir, readExample, writeExample } from "./example.ts";

const test = suite("a rolling restart behind a proxy");
const dir = temporaryDir("portico-deploy-");
const env = {
  PORTICO_BIND: "127.0.0.1",
  PORTICO_TOKEN: "owner-token",
  PORTICO_WEBHOOK_TOKEN: "hook-token",
};
let postgres: TestPostgres;
let upstream: Upstream;
let control: Server;
/** What comes behind the first chunk of a stream waits for it. */
let isSeen = Promise.resolve();
const gateways: (SpawnedGateway & { home: string; at: number })[] = [];

test.before(async () => {
  // the certificate is for this machine alone, and signed by itself
  setGlobalDispatcher(new Agent({ connect: { ca: localhost.cert } }));
  postgres = await startPostgres({ settings: ["fsync=off"] });
  upstream = await startUpstream((_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" }).write(chunk({ content: "0 " }));
    let n = 1;
    const go = () => {
      const timer = setInterval(() => {
        if (n < 5) return res.write(chunk({ content: `${n++} ` }));
        clearInterval(timer);
        return res.end(chunk({}, "stop") + DONE);
      }, 60);
    };
    void isSeen.then(go);
  });
  const store = postgres.emptyUrl();
  gateways.push(
    ...(await Promise.all([1, 2].map(async () => startOne(await freePort(), makeHome(), store)))),
  );
  control = createServer((req, res) => {
    void restart(Number(/@(\d+)/.exec(req.url ?? "")?.[1]), store).then(
      () => res.end(),
      (error: unknown) => res.writeHead(500).end(String(error)),
    );
  }).listen(0, "127.0.0.1");
  await once(control, "listening");
});
test.after(async () => {
  control.close();
  for (const gateway of gateways) await gateway.stop();
  await upstream.close();
  await postgres.stop();
});

/** Starts a gateway as the unit does, but with another home. */
async function startOne(at: number, home: string, store: string) {
  const config = join(dir, "portico.json5");
  const channels = `channels: { slow: { provider: "openai", baseUrl: "${upstream.url}", apiKey: "k", models: ["m"] } },`;
  writeExample(dir, "portico.json5", {
    'http: { allowedHosts: ["portico.example"] },': 'http: { allowedHosts: ["localhost"] },',
    'webhooks: { token: "${PORTICO_WEBHOOK_TOKEN}" },': `webhooks: { token: "\${PORTICO_WEBHOOK_TOKEN}", rateLimit: { maxRequests: 1000000, windowMs: 60000 } }, agents: { defaults: { model: "echo", heartbeat: { every: "0" } } }, ${channels}`,
  });
  const gateway = await spawnGateway({
    home,
    config: {},
    args: ["--config", config, "--port", String(at)],
    env: { ...env, PORTICO_STORE: store },
  });
  return Object.assign(gateway, { home, at });
}

/** Does what `systemctl restart portico@PORT` does. */
async function restart(at: number, store: string): Promise<void> {
  const index = gateways.findIndex((gateway) => gateway.at === at);
  const [old] = gateways.slice(index);
  assert.ok(old, `no gateway listens on ${at}`);
  await old.kill("SIGTERM");
  assert.is(old.child.exitCode, 0);
  gateways[index] = await startOne(at, old.home, store);
}

const upstreamsOf = () => ({
  "127.0.0.1:18789": `127.0.0.1:${gateways[0]?.at}`,
  "127.0.0.1:18793": `127.0.0.1:${gateways[1]?.at}`,
});

async function startNginx(
  program: string,
): Promise<{ url: string; plain: string; child: ChildProcess }> {
  const [port, plain] = [await freePort(), await freePort()];
  for (const [name, text] of [
    ["cert.pem", localhost.cert],
    ["key.pem", localhost.key],
  ] as const)
    writeFileSync(join(dir, name), text);
  mkdirSync(join(dir, "temporary"), { recursive: true });
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (what) => `${what}_temp_path ${dir}/temporary;`,
  );
  const file = writeExample(dir, "nginx.conf", {
    "worker_processes auto;": `worker_processes 1; pid ${dir}/pid; error_log ${dir}/errors; ${process.getuid?.() === 0 ? "user root;" : ""}`,
    "http {\n": `http { access_log off; ${paths.join(" ")}\n`,
    "/etc/nginx/portico-upstream.conf": writeExample(dir, "portico-upstream.conf", upstreamsOf()),
    "listen 80;": `listen 127.0.0.1:${plain};`,
    "listen 443 ssl;": `listen 127.0.0.1:${port} ssl;`,
    "server_name portico.example;": "server_name localhost;",
    "/etc/portico/tls/fullchain.pem": join(dir, "cert.pem"),
    "/etc/portico/tls/privkey.pem": join(dir, "key.pem"),
  });
  const child = spawn(
    program,
    ["-p", dir, "-c", file, "-g", "daemon off;", "-e", join(dir, "errors")],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  const url = `https://localhost:${port}`;
  await until("nginx", async () => (await request(`${url}/ready`)).statusCode === 200);
  return { url, plain: `http://localhost:${plain}`, child };
}

async function startCaddy(program: string): Promise<{ url: string; child: ChildProcess }> {
  const port = await freePort();
  const file = writeExample(dir, "Caddyfile", {
    "portico.example {": `http://localhost:${port} {`,
    ...upstreamsOf(),
  });
  writeFileSync(file, `{\n\tadmin off\n}\n${readFileSync(file, "utf8")}`);
  const child = spawn(program, ["run", "--adapter", "caddyfile", "--config", file], {
    stdio: "ignore",
    env: { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir },
  });
  const url = `http://localhost:${port}`;
  await until("Caddy", async () => (await request(`${url}/ready`)).statusCode === 200);
  return { url, child };
}

interface Seen {
  chats: number;
  streams: number;
  turns: string[];
}

/** Chats, streams and webhooks without a pause, until `over`; each must be answered, whole. */
async function load(url: string, over: () => boolean): Promise<Seen> {
  const counts: Seen = { chats: 0, streams: 0, turns: [] };
  const post = async (path: string, token: string, body: object): Promise<string> => {
    const { statusCode, body: response } = await request(url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (isRetryable(statusCode, text)) return post(path, token, body);
    assert.is(statusCode, 200, text);
    return text;
  };
  const messages = [{ role: "user", content: "are you there?" }];
  const chat = async () => {
    const text = await post("/v1/chat/completions", env.PORTICO_TOKEN, { model: "echo", messages });
    assert.is(JSON.parse(text).choices[0].message.content, "are you there?");
    counts.chats++;
  };
  const stream = async () => {
    const text = await post("/v1/chat/completions", env.PORTICO_TOKEN, {
      model: "slow/m",
      messages,
      stream: true,
    });
    for (const part of ["0 ", "4 ", "[DONE]"])
      assert.ok(text.includes(part), `a stream without its ${part}: ${text}`);
    counts.streams++;
  };
  const webhook = async (n: number) => {
    const body = { message: `number ${n}`, session: `rolling:${n % 5}` };
    counts.turns.push(
      JSON.parse(await post("/hooks/agent", env.PORTICO_WEBHOOK_TOKEN, body)).turnId,
    );
  };
  let number = 0;
  const caller = async (call: (n: number) => Promise<void>) => {
    while (!over()) await call(number++);
  };
  await Promise.all([chat, chat, stream, stream, stream, webhook, webhook].map(caller));
  return counts;
}

/** Runs the example over both gateways while all of that goes on; nothing may be lost. */
async function rollUnderLoad(url: string): Promise<void> {
  const command = join(dir, "restart");
  const { port } = control.address() as AddressInfo;
  writeFileSync(command, `#!/bin/sh\nexec curl -fsS --max-time 60 "http://127.0.0.1:${port}/$1"\n`);
  chmodSync(command, 0o755);
  let over = false;
  const loading = load(url, () => over);
  const before = gateways.map(({ child }) => child.pid);
  const rolling = promisify(execFile)(
    join(deployDir, "rolling-restart.sh"),
    gateways.map(({ at }) => String(at)),
    {
      env: { ...process.env, RESTART: command },
    },
  ).finally(() => {
    over = true;
  });
  const [finalCounts, { stdout }] = await Promise.all([loading, rolling]).finally(() => {
    over = true;
  });
  assert.is(stdout.match(/is ready/g)?.length, 2, stdout);
  assert.ok(
    gateways.every(({ child }, i) => child.pid !== before[i]),
    "both are new",
  );
  const bearer = { authorization: `Bearer ${env.PORTICO_WEBHOOK_TOKEN}` };
  for (const turn of finalCounts.turns)
    await until(`${turn} to be done`, async () => {
      const { body } = await request(`${url}/hooks/turns/${turn}`, { headers: bearer });
      return ((await body.json()) as { state: string }).state === "done";
    });
  console.log(
    `  ${finalCounts.chats} chats, ${finalCounts.streams} streams, ${finalCounts.turns.length} webhooks: none lost`,
  );
}

test("nginx: streams come as they are made, http goes to https, and a rolling restart loses nothing", async () => {
  const program = findOrUnpack("nginx", "usr/sbin/nginx");
  if (program === undefined) return;
  const { url, plain, child } = await startNginx(program);
  try {
    const { statusCode, headers } = await request(`${plain}/v1/models?a=b`);
    assert.equal([statusCode, headers["location"]], [301, "https://localhost/v1/models?a=b"]);
    await expectLive(url);
    await rollUnderLoad(url);
  } finally {
    await end(child);
  }
});

test("Caddy: streams come as they are made, and both gateways are asked", async () => {
  const program = findOrUnpack("caddy", "usr/bin/caddy");
  if (program === undefined) return;
  const { url, child } = await startCaddy(program);
  try {
    assert.not.match(readExample("Caddyfile"), /^\s*(lb_try|request_buffers|buffer_requests)/m);
    await expectLive(url);
    let calls = 0;
    const counts = await load(url, () => calls++ > 30);
    assert.ok(counts.chats > 0 && counts.streams > 0 && counts.turns.length > 0);
  } finally {
    await end(child);
  }
});

/** The first chunk comes while the others have not been made: a proxy that gathers them would wait for ever. */
async function expectLive(url: string): Promise<void> {
  let go = () => {};
  isSeen = new Promise((resolve) => {
    go = resolve;
  });
  try {
    const { body } = await request(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${env.PORTICO_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "slow/m",
        messages: [{ role: "user", content: "hi" }],
        stream: true,
      }),
      headersTimeout: PATIENCE_MS,
      bodyTimeout: PATIENCE_MS,
    });
    let text = "";
    for await (const part of body) {
      text += String(part);
      if (text.includes("0 ")) go();
    }
    // Without it the gateway has given its upstream up.
    for (const part of ["4 ", "[DONE]"])
      assert.ok(text.includes(part), `a stream without its ${part}: ${text}`);
  } finally {
    go();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

test.run();
