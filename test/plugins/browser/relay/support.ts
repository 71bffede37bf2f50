/** A person's own browser: a second Chromium with the extension in it, and a person's clicks. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page, type Worker } from "playwright-core";
import { EXTENSION_ID } from "../../../../plugins/browser/relay/pairing.ts";
import { packageDir } from "../../../support/gateway.ts";
import { findChromium, userBrowserArgs } from "../../../support/machine/prepare.ts";
import { PATIENCE_MS, until, untilRight } from "../../../support/until.ts";
import type { BrowserGateway } from "../support.ts";

export const extensionDir = join(packageDir, "plugins/browser/extension");

interface Badge {
  text: string;
  title: string;
}

export interface Person {
  context: BrowserContext;
  /** The extension's worker as it lives now. */
  worker(): Promise<Worker>;
  /** Fills in and saves the options page; its last words. */
  pair(port: number, token: string): Promise<string>;
  /** Opens a page in a tab of its own. */
  open(url: string): Promise<Page>;
  /** Clicks the extension's icon while that tab is shown. */
  clickIcon(page: Page): Promise<void>;
  badge(page: Page): Promise<Badge>;
  /** Waits for the badge to show that text. */
  shows(page: Page, text: string): Promise<Badge>;
  /** Where the extension's hidden page tells that this browser runs, if it does. */
  presence(): Promise<string | undefined>;
  /** Ends the extension's worker, as the browser does with one that it thinks idle; the next one is there then. */
  killWorker(): Promise<void>;
  /** Ends every process of it, as the system does when memory is short. */
  kill(): Promise<void>;
  /** May be repeated, and come after a kill. */
  stop(): Promise<void>;
}

export async function startPerson(): Promise<Person> {
  const dir = mkdtempSync(join(tmpdir(), "portico-person-"));
  const context = await chromium.launchPersistentContext(dir, {
    headless: true,
    executablePath: findChromium(),
    timeout: PATIENCE_MS,
    ignoreDefaultArgs: ["--disable-extensions"],
    args: [
      ...userBrowserArgs,
      `--load-extension=${extensionDir}`,
      `--disable-extensions-except=${extensionDir}`,
      "--enable-unsafe-extension-debugging",
    ],
  });
  context.setDefaultTimeout(PATIENCE_MS);
  let isThere = true;
  const ended = new Promise<void>((resolve) => context.once("close", () => resolve()));
  void ended.then(() => {
    isThere = false;
  });
  const browser = await context.browser()!.newBrowserCDPSession();
  const base = `chrome-extension://${EXTENSION_ID}`;
  // A page of the extension's: it can ask the browser about tabs and badges while the worker is dead.
  const options = await context.newPage();
  await until("the extension", async () => {
    await options.goto(`${base}/options.html`);
    return true;
  });

  async function badgeOf(url: string): Promise<Badge | undefined> {
    return options.evaluate(async (wanted) => {
      const { chrome } = globalThis as any;
      const tab = (await chrome.tabs.query({})).find(
        (candidate: { url: string }) => candidate.url === wanted,
      );
      if (tab === undefined) return undefined;
      const [text, title] = await Promise.all([
        chrome.action.getBadgeText({ tabId: tab.id }),
        chrome.action.getTitle({ tabId: tab.id }),
      ]);
      return { text, title };
    }, url);
  }

  const person: Person = {
    context,
    async worker() {
      return context.serviceWorkers()[0] ?? context.waitForEvent("serviceworker");
    },
    async pair(port, token) {
      await options.fill("[name=port]", String(port));
      await options.fill("[name=token]", token);
      await options.evaluate(
        () => ((globalThis as any).document.querySelector("output").textContent = ""),
      );
      await options.click("button");
      return untilRight(
        async () => (await options.textContent("output")) ?? "",
        (text) => text.startsWith("Saved") && !text.endsWith("…"),
      );
    },
    async open(url) {
      const page = await context.newPage();
      // Somebody who listens and does nothing: otherwise the library dismisses the dialogs of "its" page.
      page.on("dialog", () => {});
      await page.goto(url);
      return page;
    },
    async clickIcon(page) {
      await page.bringToFront();
      const { targetInfos } = await browser.send("Target.getTargets", {
        filter: [{ type: "tab" }],
      });
      const tab = targetInfos.find(({ url }) => url === page.url());
      if (tab === undefined) throw new Error(`no tab shows ${page.url()}`);
      await (browser as any).send("Extensions.triggerAction", {
        id: EXTENSION_ID,
        targetId: tab.targetId,
      });
    },
    async badge(page) {
      return (await badgeOf(page.url())) ?? { text: "", title: "" };
    },
    shows: (page, text) =>
      until(`the badge ${JSON.stringify(text)}`, async () => {
        const badge = await badgeOf(page.url());
        return badge?.text === text ? badge : undefined;
      }),
    async presence() {
      const { targetInfos } = await browser.send("Target.getTargets");
      const page = targetInfos.find(({ url }) => url === `${base}/offscreen.html`);
      if (page === undefined) return undefined;
      const { sessionId } = await browser.send("Target.attachToTarget", {
        targetId: page.targetId,
      });
      const dialogText = new Promise<string>((resolve) =>
        browser.once("Target.receivedMessageFromTarget", ({ message }) => resolve(message)),
      );
      const expression = "presence?.readyState === WebSocket.OPEN ? presence.url : undefined";
      const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } });
      await browser.send("Target.sendMessageToTarget", { sessionId, message });
      const { result } = JSON.parse(await dialogText);
      await browser.send("Target.detachFromTarget", { sessionId });
      return result.result.value;
    },
    async killWorker() {
      // A worker that comes back at once may be the same target again, but never the same context.
      const contexts = (): Promise<string[]> =>
        options.evaluate(async () => {
          const backgroundContexts = await (globalThis as any).chrome.runtime.getContexts({
            contextTypes: ["BACKGROUND"],
          });
          return backgroundContexts.map(({ contextId }: { contextId: string }) => contextId);
        });
      const [old] = await contexts();
      const { targetInfos } = await browser.send("Target.getTargets");
      const worker = targetInfos.find(
        ({ type, url }) => type === "service_worker" && url.startsWith(base),
      );
      if (old === undefined || worker === undefined) throw new Error("no worker runs");
      await browser.send("Target.closeTarget", { targetId: worker.targetId });
      // Until another one is there the old one may still take what it will never answer.
      await until("another worker", async () => (await contexts()).some((id) => id !== old));
    },
    async kill() {
      for (const line of execFileSync("ps", ["-eo", "pid=,args="]).toString().split("\n"))
        if (line.includes(`--user-data-dir=${dir}`)) {
          try {
            process.kill(Number.parseInt(line, 10), "SIGKILL");
          } catch {
            // it went with the first
          }
        }
      await ended;
    },
    async stop() {
      if (isThere) await context.close();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
  return person;
}

/** The port and token of a gateway's relay, as the owner reads them. */
export async function pairingOf(browser: BrowserGateway): Promise<{ port: number; token: string }> {
  return (await browser.get("/extension/pair")).body;
}
