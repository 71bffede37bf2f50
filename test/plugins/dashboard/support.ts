/** A gateway with something to look at, and a person's browser to look with. */
import { type Browser, chromium, type Page } from "playwright-core";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { findChromium, headlessBrowser, userBrowserArgs } from "../../support/machine/prepare.ts";
import { PATIENCE_MS } from "../../support/until.ts";

export const EVIL = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
const WEBHOOK_TOKEN = "token-of-the-webhooks-1234";

const hook = (name: string, body: string) => hookFiles(name, body, { description: `Says ${EVIL}` });

/** Hooks (one fails), a job, a poll, a turn with a transcript, a delivery, and two chats. */
export async function startFilled(): Promise<InProcessGateway> {
  const gateway = await startGateway({
    config: {
      channels: {
        away: {
          provider: "openai",
          baseUrl: "http://127.0.0.1:9/v1",
          apiKey: "k",
          models: ["gone"],
          maxRetries: 0,
        },
      },
      agents: { defaults: { model: "echo" } },
      webhooks: {
        enabled: true,
        token: WEBHOOK_TOKEN,
        mappings: { shop: { message: "Look at {body.ordr.id}." } },
      },
      browser: headlessBrowser,
    },
    files: {
      ...hook("broken", `throw new Error(${JSON.stringify(`no luck ${EVIL}`)})`),
      ...hook("quiet", ""),
      ...hook(
        "changing",
        "if (event.context.content === 'one') event.context.content += ', changed';",
      ),
      "news.txt": "first",
      "workspace/news.txt": "first",
    },
  });
  await gateway.json("POST", "/cron/jobs", {
    name: "tea time",
    schedule: { kind: "every", everyMs: 3_600_000 },
    payload: { kind: "systemEvent", text: `Make tea ${EVIL}` },
  });
  await gateway.json("POST", "/polls", {
    name: "news",
    every: "1h",
    source: { kind: "http", url: "http://127.0.0.1:9/feed" },
    payload: { kind: "systemEvent", text: "News: {item.text}" },
  });
  await gateway.json("POST", "/agent", {
    message: `Remember ${EVIL}`,
    session: "kitchen",
    wait: true,
  });
  const hooked = await gateway.request(
    "POST",
    "/hooks/wake",
    { text: `Ding ${EVIL}` },
    { token: WEBHOOK_TOKEN },
  );
  if (hooked.status !== 200)
    throw new Error(`the webhook answered ${hooked.status}: ${await hooked.text()}`);
  await chat(gateway, "echo", "hello");
  await chat(gateway, "away/gone", "hello");
  return gateway;
}

/** Sends the mapping `shop` an order. */
export async function order(gateway: InProcessGateway, body: unknown): Promise<void> {
  await (await gateway.request("POST", "/hooks/shop", body, { token: WEBHOOK_TOKEN })).text();
}

async function chat(gateway: InProcessGateway, model: string, content: string): Promise<void> {
  await (
    await gateway.request("POST", "/v1/chat/completions", {
      model,
      messages: [{ role: "user", content }],
    })
  ).text();
}

/** What all parts of the page's test share. */
export interface Setting {
  gateway: InProcessGateway;
  chromium: Browser;
  /** Who is signed in, sees the overview, and is in no test. */
  atRest?: Visitor | undefined;
}

export const USUAL_SIZE = { width: 1200, height: 800 };

type Steps = (setting: Setting) => Promise<void>;

/** What the parts have, for the file that runs them all. */
export const tests: { name: string; steps: Steps }[] = [];

export function test(name: string, steps: Steps): void {
  tests.push({ name, steps });
}

export interface Visitor {
  page: Page;
  /** The errors of the browser's console; none are expected. */
  complaints: string[];
}

/** Takes the complaints: what is left of them comes later. */
export const complaintsOf = ({ complaints }: Visitor): string[] => complaints.splice(0);

export function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("there is no Chromium");
  return chromium.launch({ executablePath, args: userBrowserArgs, timeout: PATIENCE_MS });
}

export async function visit(browser: Browser, url: string): Promise<Visitor> {
  const context = await browser.newContext({ viewport: USUAL_SIZE });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (line) => {
    // A refused token is a failed request, which the console notes by itself.
    if (line.type() === "error" && !/status of (400|401|404|409|503)/.test(line.text()))
      complaints.push(line.text());
  });
  await page.goto(`${url}/`);
  return { page, complaints };
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("The gateway's token or password").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** A visitor who sees the overview, with a tab and a storage of their own. */
export async function visitSignedIn({ chromium, gateway }: Setting): Promise<Visitor> {
  const visitor = await visit(chromium, gateway.url);
  await signIn(visitor.page, gateway.token);
  await seesOverview(visitor);
  return visitor;
}

const seesOverview = ({ page }: Visitor) =>
  page.getByRole("heading", { name: "Channels" }).waitFor();

/**
 * A test of somebody who is signed in and sees the overview: the same visitor for one test after another, since to load
 * the page anew takes most of a second of processor time. After a test that failed the next one has a new visitor.
 */
export function testSignedIn(
  name: string,
  body: (visitor: Visitor, setting: Setting) => Promise<void>,
): void {
  test(name, async (setting) => {
    const visitor = setting.atRest ?? (await visitSignedIn(setting));
    setting.atRest = undefined;
    const { page } = visitor;
    let passed = false;
    try {
      await body(visitor, setting);
      assert.equal(visitor.complaints, []);
      passed = true;
    } finally {
      if (!passed) await page.context().close();
    }
    await page.unrouteAll();
    await openSection(visitor, "Overview");
    await seesOverview(visitor);
    // What was said is not to be taken for what the next test's steps bring about.
    await page.locator("#toast").evaluate((toast) => toast.replaceChildren());
    setting.atRest = visitor;
  });
}

/** Opens a page by the navigation, which is behind a button on a narrow screen. */
export async function openSection({ page }: Visitor, section: string): Promise<void> {
  const menu = page.getByRole("button", { name: "Menu" });
  if (await menu.isVisible()) await menu.click();
  await page.getByRole("navigation").getByRole("link", { name: section, exact: true }).click();
}

/** Opens the configuration at a setting, an entry or a section, as a link to it does. */
export async function openSetting({ page }: Visitor, key: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/configuration/${key}`)}`);
  await page.getByRole("region", { name: "Changes" }).waitFor({ state: "attached" });
}

/** A picture for a person's eyes, where `PORTICO_PICTURES` names a directory. */
export async function picture(page: Page, name: string): Promise<void> {
  const dir = process.env["PORTICO_PICTURES"];
  if (dir) await page.screenshot({ path: `${dir}/${name}.png`, fullPage: true });
}
