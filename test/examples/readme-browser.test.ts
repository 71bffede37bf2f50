/** The recorded sessions of the READMEs with the browser: each command with its output. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type BrowserGateway, startBrowser } from "../plugins/browser/support.ts";
import { packageDir } from "../support/gateway.ts";
import { porticoHere } from "../support/portico.ts";
import { wordsOf } from "../support/sources/readme-commands.ts";
import { suite } from "../support/suite.ts";

const test = suite("recorded browser sessions");
/** `examples/tea-shop.ts`, which the READMEs use, and its address without the last slash. */
let shop: ChildProcess;
let shopUrl: string;
let browser: BrowserGateway;

test.before(async () => {
  const program = join(packageDir, "examples/tea-shop.ts");
  shop = spawn(process.execPath, ["--import", "tsx", program], {
    cwd: packageDir,
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(shop.stdout!, "data");
  shopUrl = String(line).trim().replace(/\/$/, "");
});
test.after(() => void shop?.kill());
// each of its own: refs count on
test.before.each(async () => {
  browser = await startBrowser();
});
test.after.each(() => browser?.stop());

/** The commands of a README's block that begins with this one, with their output. */
function sessionOf(readme: string, first: string): { command: string; expectedOutput: string }[] {
  const text = readFileSync(join(packageDir, readme), "utf8");
  const block = text.split("```console\n").find((part) => part.startsWith(`$ ${first}`)) ?? "";
  return block
    .split("```")[0]!
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...outputLines] = part.split("\n");
      return { command, expectedOutput: outputLines.join("\n").trim() };
    });
}

/** The parts that differ each time: a target's id, a file's name, the size of the receipt. */
const steady = (text: string): string =>
  text
    .replaceAll(shopUrl, "http://127.0.0.1:8080")
    .replace(/^[0-9A-F]{8}(?= )/m, "<target>")
    .replace(/portico-\d{8}-\d{6}-[0-9a-f]{6}/, "<name>")
    .replace(/\(\d+ bytes\)/, "(<n> bytes)")
    .replace(/^.*\/portico\//m, "/tmp/portico/");

for (const readme of ["README.md", "plugins/browser/README.md"]) {
  test(readme, async () => {
    const session = sessionOf(readme, "portico browser open");
    assert.ok(session.length >= 6, `${session.length} commands`);
    for (const { command, expectedOutput } of session) {
      const words = wordsOf(command.replaceAll("http://127.0.0.1:8080", shopUrl)).slice(1);
      const { stdout, stderr } = await porticoHere(browser.gateway.home, words);
      assert.is(steady((stdout + stderr).trim()), steady(expectedOutput), command);
    }
  });
}

test("plugins/browser/README.md, the extension", async () => {
  const session = sessionOf("plugins/browser/README.md", "portico browser extension");
  const reported: string[] = [];
  for (const { command, expectedOutput } of session) {
    const { stdout, stderr } = await porticoHere(browser.gateway.home, wordsOf(command).slice(1));
    // what differs: where it is installed, which ports are free, the token
    const shape = (text: string) =>
      text.replace(/^.*(?=\/plugins\/)|(?<=port +)\d+|(?<=token +)\S+/gm, "<own>");
    assert.is(shape((stdout + stderr).trim()), shape(expectedOutput), command);
    reported.push(...stdout.trim().split("\n"));
  }
  const [directory = "", port = "", token = ""] = reported.map((line) =>
    line.replace(/^(port|token) +/, ""),
  );
  assert.is(JSON.parse(readFileSync(join(directory, "manifest.json"), "utf8")).manifest_version, 3);
  const { href } = new URL("/json/version", `http://127.0.0.1:${port}`);
  const ask = (bearer: string) => fetch(href, { headers: { authorization: `Bearer ${bearer}` } });
  assert.equal([(await ask(token)).status, (await ask(`${token}x`)).status], [200, 401]);
});

test.run();
