/** The page "Requests" in a real browser: it shows the history of one request. */
import type { Browser } from "playwright-core";
import * as assert from "uvu/assert";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { ask, gateway, KEYS, startScene, stopScene, storyOf } from "../request-log/scene.ts";
import { openBrowser, picture, signIn, USUAL_SIZE, visit, type Visitor } from "./support.ts";

const test = suite("requests page");
let chromium: Browser;
let visitor: Visitor;
let id: string;

test.before(async () => {
  [chromium] = await Promise.all([openBrowser(), startScene()]);
  ({ id } = await storyOf(await ask("smart", KEYS.ci)));
  await storyOf(await ask("smart", KEYS.narrow));
  await storyOf(await ask("quiet/plain", KEYS.few));
  await storyOf(await ask("quiet/plain", KEYS.few));
  visitor = await visit(chromium, gateway.url);
  await signIn(visitor.page, gateway.token);
  await visitor.page.getByRole("heading", { name: "Health" }).waitFor();
});
test.after(async () => {
  await chromium?.close();
  await stopScene();
});

test("who asked, what each attempt said, what each hook changed and what it cost stand on one page", async () => {
  const { page, complaints } = visitor;
  await page.goto(`${gateway.url}/#/requests/${id}`);
  const detail = page.locator(".detail");
  await detail.getByRole("heading", { name: id }).waitFor();
  // The heading stands above the request while that is loaded.
  await detail.getByText("key:ci").first().waitFor();
  const text = (await detail.textContent()) ?? "";
  for (const part of [
    "key:ci",
    "smart",
    "one / down",
    "503",
    "two / full",
    "slow down",
    "three / gpt-4o-mini",
    "polite",
    "changed request.temperature, request.user",
    "names",
    "Dear Ada",
    "$0.0001725",
  ])
    assert.match(text, part);
  assert.equal(complaints, []);
  await picture(page, "request");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 400, height: 800 });
  await picture(page, "request-dark-narrow");
  await page.setViewportSize(USUAL_SIZE);
});

test("filters leave the others out, and stay while one is opened by the keyboard", async () => {
  const { page, complaints } = visitor;
  await page.goto(`${gateway.url}/#/requests`);
  await page.getByLabel("Outcome").selectOption("refused");
  const rows = page.locator("tbody tr");
  await page.getByText("rate_limit_exceeded").waitFor();
  await until("the rows", async () => (await rows.count()) === 2);
  await picture(page, "requests");
  const links = rows.locator("td:first-child a");
  await links.first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".detail").getByText("model_not_found").first().waitFor();
  assert.is(await rows.count(), 2);
  await page.getByRole("button", { name: "Close" }).click();
  await page.locator(".detail").waitFor({ state: "detached" });
  await page.getByLabel("Outcome").selectOption("");
  await page.getByLabel("Key").fill("ci");
  await until("the rows", async () => (await rows.count()) === 1);
  assert.equal(complaints, []);
});

test("an id that the gateway does not know is said beside the list", async () => {
  const { page } = visitor;
  await page.goto(`${gateway.url}/#/requests/req_nothing`);
  await page.locator(".detail").getByText("has no record of a request with this id").waitFor();
});

test.run();
