/** The pages of "Observe". */
import { readFile } from "node:fs/promises";
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import type { Setting, Visitor } from "../support.ts";
import type { PageRow } from "./page-rows.ts";

export const observePages: PageRow[] = [
  {
    title: "Overview",
    path: "overview",
    shows: (page) => page.getByRole("heading", { name: "Problems" }),
    async change({ page }) {
      const requests = page.locator(".figures > div").filter({ hasText: "Requests" });
      await requests.getByText("3", { exact: true }).waitFor();
      assert.not.match(await page.locator("main").innerText(), /`|\$0(\.0+)? or more/);
      const wrong = page.getByRole("listitem").filter({ hasText: "ECONNREFUSED" });
      await wrong.getByRole("link", { name: "Polls" }).waitFor();
      await page.getByRole("button", { name: "Test echo" }).click();
      await page.getByText(/^echo responded in/).waitFor();
    },
  },
  {
    title: "Requests",
    path: "requests",
    shows: (page) => page.getByRole("link", { name: "away/gone" }),
    async change({ page }) {
      await page.getByLabel("Outcome").selectOption("failed");
      await until("the filtered list", async () => (await page.locator("tbody tr").count()) === 1);
      assert.match(page.url(), /outcome=failed/);
      await page.getByRole("link", { name: "away/gone" }).press("Enter");
      await page.locator(".detail").getByText("away / gone").first().waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".detail").waitFor({ state: "detached" });
      assert.match(page.url(), /outcome=failed/, "the filter stays");
    },
  },
  {
    title: "One request",
    path: async ({ gateway }) => {
      const { requests } = await gateway.json("GET", "/requests?limit=1");
      return `requests/${requests[0].id}`;
    },
    shows: (page) => page.locator(".detail").getByRole("heading", { name: "What happened" }),
  },
  {
    title: "Usage",
    path: "usage",
    shows: (page) => page.getByRole("cell", { name: "echo" }).first(),
    async change({ page }) {
      await page.locator(".usage-chart canvas").waitFor();
      for (const [group, value] of [
        ["alias", "away/gone"],
        ["principal", "owner"],
      ] as const) {
        await page.getByLabel("Group by").selectOption(group);
        await page.getByRole("cell", { name: value }).first().waitFor();
      }
      await page.getByLabel("Range").selectOption("24h");
      await page.getByRole("heading", { name: "Requests by hour" }).waitFor();
      await page.locator(".u-over").hover();
      await page
        .getByText(/\d{4}-\d\d-\d\d \d\d:00/)
        .first()
        .waitFor();
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download CSV" }).click();
      const csv = await readFile(await (await download).path(), "utf8");
      assert.match(csv, /^hour,principal,requests,errors,/);
      assert.match(csv, /,owner,\d+,\d+,/);
    },
  },
  {
    title: "Events",
    path: "events",
    shows: (page) => page.getByText("live", { exact: true }),
    change: seeAnEvent,
  },
  {
    title: "Logs",
    path: "logs",
    shows: (page) => page.getByText(/could not be reached/).first(),
    change: filterAndPause,
  },
];

async function seeAnEvent({ page }: Visitor, { gateway }: Setting): Promise<void> {
  await gateway.json("POST", "/v1/chat/completions", {
    model: "echo",
    messages: [{ role: "user", content: "an event" }],
  });
  await page.locator("details").filter({ hasText: "message:received" }).first().waitFor();
}

/** Filters by level and text, follows a new line, and holds the list while it is paused. */
async function filterAndPause({ page }: Visitor, { gateway }: Setting): Promise<void> {
  const lines = page.locator(".log-lines li");
  await page.getByLabel("Minimum level").selectOption("warn");
  await until("only warnings and errors", async () => {
    const levels = await lines.locator(".badge").allTextContents();
    return levels.length > 0 && !levels.includes("info");
  });
  await page.getByLabel("Text").fill("no such line");
  await page.getByText("No log line matches yet.").waitFor();
  await page.getByLabel("Text").fill("nowhere");
  await page.getByLabel("Minimum level").selectOption("");
  await page.getByText("live", { exact: true }).waitFor();
  await gateway.request("GET", "/nowhere-1");
  await page
    .getByText(/nowhere-1/)
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  const count = await lines.count();
  await gateway.request("GET", "/nowhere-2");
  assert.is(await lines.count(), count);
  await page.getByRole("button", { name: "Follow" }).click();
  await page
    .getByText(/nowhere-2/)
    .first()
    .waitFor();
}
