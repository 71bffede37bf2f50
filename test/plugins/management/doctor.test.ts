import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

interface Finding {
  about: string;
  level: "ok" | "warning" | "error";
  message: string;
  remedy?: string;
}

const upstream = createServer((req, res) => {
  req.resume();
  if (req.url === "/none/models") return void res.end('{"object":"list","data":[]}');
  res.statusCode = 401;
  res.setHeader("content-type", "application/json");
  res.end(
    '{"error":{"message":"Incorrect API key provided: sk-a-key-of-ours","type":"invalid_request_error"}}',
  );
});
const test = suite("portico doctor");
test.before(async () => {
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
});
test.after(() => void upstream.close());

async function doctor(
  home: string,
  ...more: string[]
): Promise<{ code: number | null; stderr: string; findings: Finding[] }> {
  const { code, stdout, stderr } = await porticoHere(home, ["doctor", "--json", ...more]);
  return { code, stderr, findings: (JSON.parse(stdout) as { findings: Finding[] }).findings };
}

test("a home that does not exist yet is no fault", async () => {
  const home = join(temporaryDir("portico-doctor-"), "new");
  const there = temporaryDir("portico-doctor-");
  writeFileSync(join(there, "portico.json"), "{ gateway: { port: 0 } }", { mode: 0o600 });
  const { findings, stderr } = await doctor(there);
  for (const about of ["home", "rights", "configuration", "plugins", "hooks", "store"])
    assert.equal(
      findings.filter((finding) => finding.about === about).map(({ level }) => level),
      ["ok"],
      about,
    );
  assert.is(stderr, "");
  const elsewhere = await doctor(temporaryDir("portico-doctor-"), "--home", home);
  // Another gateway may have the port.
  const errors = elsewhere.findings.filter(
    ({ about, level }) => level === "error" && about !== "port",
  );
  assert.equal(errors, []);
});

test("without a gateway each fault is named with its remedy", async () => {
  const home = temporaryDir("portico-doctor-");
  const { port } = upstream.address() as AddressInfo;
  const writeFile = (path: string, text: string, mode = 0o600) => {
    mkdirSync(join(home, path, ".."), { recursive: true, mode: 0o700 });
    writeFileSync(join(home, path), text);
    chmodSync(join(home, path), mode);
  };
  writeFile(
    "portico.json",
    `{ gateway: { port: ${port} }, channels: { up: { provider: "openai" } } }`,
    0o644,
  );
  writeFile("plugins/torn/plugin.ts", "export default 1 +;");
  writeFile("hooks/odd/HOOK.md", "---\nevents: [gateway:startpu]\n---\n");
  writeFile("hooks/odd/handler.ts", "export default () => {};");
  chmodSync(home, 0o755);
  const { code, findings, stderr } = await doctor(home);
  assert.is(code, 1);
  assert.match(
    stderr,
    /^portico: 4 checks failed. The first is rights: other users can read .*portico\.json\n$/,
  );
  const say = (about: string) =>
    findings
      .filter((finding) => finding.about === about)
      .map(({ level, message, remedy }) => `${level}: ${message} → ${remedy}`)
      .join("\n");
  assert.match(say("home"), /^warning: other users can enter .* \(mode 755\) → Run `chmod 700 /);
  assert.match(say("rights"), /^error: other users can read .*portico\.json → Run `chmod go= /);
  assert.match(say("configuration"), /^ok/);
  assert.match(
    say("port"),
    /^error: 127\.0\.0\.1:\d+ is in use by another program → .*config set gateway\.port/,
  );
  assert.match(say("plugins"), /^error: torn: .* → Correct .*torn\/plugin\.ts/);
  assert.match(
    say("hooks"),
    /^error: odd: no plugin emits gateway:startpu; did you mean gateway:startup\? → Run `portico hooks check odd`/,
  );
  assert.match(
    say("channels"),
    /^warning: the channels were not tested, because no gateway is running → Run `portico start`/,
  );
  writeFile("portico.json", "{ gateway: { prot: 1 } }");
  const { findings: broken } = await doctor(home);
  const configuration = broken.find((finding) => finding.about === "configuration");
  assert.match(
    configuration?.message ?? "",
    "gateway.prot is not a known key; did you mean gateway.port?",
  );
});

test("for a running gateway, channels, jobs and turns are checked too; status names what is wrong", async () => {
  const { port } = upstream.address() as AddressInfo;
  const up = {
    provider: "openai",
    baseUrl: `http://127.0.0.1:${port}/v1`,
    apiKey: "sk-a-key-of-ours",
    maxRetries: 0,
  };
  // nobody says what to ask these for
  const unnamed = {
    empty: { ...up, baseUrl: `http://127.0.0.1:${port}/none` },
    listless: { provider: "perplexity", apiKey: "k" },
  };
  const gateway = await startGateway({
    config: {
      channels: { up, ...unnamed },
      browser: { enabled: false },
      agents: { defaults: { maxAttempts: 1 } },
    },
  });
  try {
    assert.match((await porticoHere(gateway.home, ["status"])).stdout, /Hooks +\d+ /);
    await gateway.json("POST", "/agent", { message: "x", model: "up/m" });
    await until(
      "the dead turn",
      async () => (await gateway.json("GET", "/turns?state=dead")).turns.length > 0,
    );
    const job = {
      name: "daily",
      schedule: { kind: "every", everyMs: 86_400_000 },
      payload: { kind: "agentTurn", message: "x", model: "up/m" },
    };
    const { id } = await gateway.json("POST", "/cron/jobs", job);
    await gateway.json("POST", `/cron/jobs/${id}/run`);
    await until(
      "the job's failure",
      async () => (await gateway.json("GET", `/cron/jobs/${id}`)).state.consecutiveErrors > 0,
    );
    const { code, findings } = await doctor(gateway.home);
    assert.is(code, 1);
    const levels = (about: string) =>
      findings.filter((finding) => finding.about === about).map(({ level }) => level);
    const ofChannel = (name: string) =>
      findings.find(
        ({ about, remedy }) => about === "channels" && remedy?.includes(`channels test ${name}`),
      );
    assert.is(ofChannel("up")?.level, "error");
    for (const name of Object.keys(unnamed)) {
      const remedy = `Run \`portico channels test ${name} --model NAME\`, or list a model in channels.${name}.models.`;
      assert.equal([ofChannel(name)?.level, ofChannel(name)?.remedy], ["warning", remedy]);
    }
    assert.equal(levels("store"), ["ok"]);
    assert.equal(levels("plugins"), ["ok"]);
    const { stdout } = await porticoHere(gateway.home, ["status"]);
    assert.match(
      stdout,
      /turns: The turn turn_\w+ of session .* is dead: [^\n]*[^.]\. Try it again: portico turns replay turn_/,
    );
    assert.match(stdout, /cron: daily failed at its last run: /);
  } finally {
    await gateway.stop();
  }
});

test.run();
