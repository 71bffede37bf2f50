/** The page "Audit trail" in a real browser: it shows changes with their principals. */
import type { Browser } from "playwright-core";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { openBrowser, picture, signIn, visit, type Visitor } from "./support.ts";

const test = suite("audit page");
let chromium: Browser;
let gateway: InProcessGateway;
let visitor: Visitor;
let id: string;

test.before(async () => {
  [chromium, gateway] = await Promise.all([openBrowser(), startGateway()]);
  const schedule = { kind: "cron", expr: "0 8 * * *", tz: "UTC" };
  const payload = { kind: "systemEvent", text: "good morning" };
  const job = await gateway.json("POST", "/cron/jobs", { name: "Morning", schedule, payload });
  id = job.id;
  await gateway.json("PATCH", `/cron/jobs/${id}`, { name: "Dawn" });
  await gateway.request("DELETE", "/keys/ci", undefined, { token: "wrong" });
  visitor = await visit(chromium, gateway.url);
  await signIn(visitor.page, gateway.token);
});
test.after(async () => {
  await chromium?.close();
  await gateway?.stop();
});

test("a change is found by a filter and shows before and after", async () => {
  const { page, complaints } = visitor;
  await page.goto(`${gateway.url}/#/audit`);
  await page.getByRole("link", { name: "Not applied: deleted key ci" }).waitFor();
  await page.getByLabel("Route, entry or configuration key contains").fill("patch /cron");
  await until("the filtered list", async () => {
    const rows = await page.locator("table tbody tr").count();
    return rows === 1;
  });
  await page.getByRole("link", { name: `Changed job ${id}` }).click();
  const detail = page.locator(".detail");
  await detail.getByText("Before and after").waitFor();
  const text = (await detail.textContent()) ?? "";
  for (const part of ["owner", "http", "127.0.0.1", "Morning", "Dawn", "PATCH /cron/jobs/:id"])
    assert.match(text, part);
  assert.equal(complaints, []);
  await picture(page, "audit");
});

test.run();
