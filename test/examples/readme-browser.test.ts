/** The recorded sessions of the READMEs with the browser, command by command, with what each answered. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import {
  type BrowserGateway,
  type Site,
  startBrowser,
  startSite,
} from "../plugins/browser/support.ts";
import { packageDir } from "../support/gateway.ts";
import { porticoHere } from "../support/portico.ts";
import { wordsOf } from "../support/sources/readme-commands.ts";
import { suite } from "../support/suite.ts";

const test = suite("recorded browser sessions");
const form = (more: string) =>
  `<title>Tea shop</title><form action="/order"><input name="name" aria-label="Name">
   <input name="amount" type="number" aria-label="Amount">${more}<button>Order</button></form>`;
const gift = `<input name="gift" type="checkbox" aria-label="As a gift">`;
let site: Site;
let browser: BrowserGateway;
let shop = form("");

test.before(async () => {
  site = await startSite({
    "/": (_req, res) => res.writeHead(200, { "content-type": "text/html" }).end(shop),
    "/order": `<title>Thank you</title><h1>Thank you, Ada</h1><p>3 coming.</p><a href="/report.csv">Download the receipt</a>`,
    "/report.csv": (_req, res) =>
      res
        .writeHead(200, { "content-disposition": "attachment; filename=report.csv" })
        .end("item,amount\ntea,3\n"),
  });
});
test.after(() => site?.stop());
// each of its own: refs count on
test.before.each(async () => {
  browser = await startBrowser();
});
test.after.each(() => browser?.stop());

/** Commands with what they answered, of a README's block that begins with this one. */
function sessionOf(readme: string, first: string): { command: string; answer: string }[] {
  const text = readFileSync(join(packageDir, readme), "utf8");
  const block = text.split("```console\n").find((part) => part.startsWith(`$ ${first}`)) ?? "";
  return block
    .split("```")[0]!
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...answer] = part.split("\n");
      return { command, answer: answer.join("\n").trim() };
    });
}

/** What differs each time: a target's id, a file's name, how many bytes the receipt has. */
const steady = (text: string): string =>
  text
    .replaceAll(site.url, "http://127.0.0.1:8080")
    .replace(/^[0-9A-F]{8}(?= )/m, "<target>")
    .replace(/portico-\d{8}-\d{6}-[0-9a-f]{6}/, "<name>")
    .replace(/\(\d+ bytes\)/, "(<n> bytes)")
    .replace(/^.*\/portico\//m, "/tmp/portico/");

for (const [readme, more] of [
  ["README.md", ""],
  ["plugins/browser/README.md", gift],
] as const) {
  test(readme, async () => {
    shop = form(more);
    const session = sessionOf(readme, "portico browser open");
    assert.ok(session.length >= 6, `${session.length} commands`);
    for (const { command, answer } of session) {
      const words = wordsOf(command.replaceAll("http://127.0.0.1:8080", site.url)).slice(1);
      const { stdout, stderr } = await porticoHere(browser.gateway.home, words);
      assert.is(steady((stdout + stderr).trim()), steady(answer), command);
    }
  });
}

test("plugins/browser/README.md, the extension", async () => {
  const session = sessionOf("plugins/browser/README.md", "portico browser extension");
  const told: string[] = [];
  for (const { command, answer } of session) {
    const { stdout, stderr } = await porticoHere(browser.gateway.home, wordsOf(command).slice(1));
    // what differs: where it is installed, which ports are free, the token
    const shape = (text: string) =>
      text.replace(/^.*(?=\/plugins\/)|(?<=port +)\d+|(?<=token +)\S+/gm, "<own>");
    assert.is(shape((stdout + stderr).trim()), shape(answer), command);
    told.push(...stdout.trim().split("\n"));
  }
  const [directory = "", port = "", token = ""] = told.map((line) =>
    line.replace(/^(port|token) +/, ""),
  );
  assert.is(JSON.parse(readFileSync(join(directory, "manifest.json"), "utf8")).manifest_version, 3);
  const { href } = new URL("/json/version", `http://127.0.0.1:${port}`);
  const ask = (bearer: string) => fetch(href, { headers: { authorization: `Bearer ${bearer}` } });
  assert.equal([(await ask(token)).status, (await ask(`${token}x`)).status], [200, 401]);
});

test.run();
