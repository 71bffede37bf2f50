/** The pages of "Observe". */
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import type { Setting, Visitor } from "../support.ts";
import type { PageRow } from "./page-rows.ts";

export const observePages: PageRow[] = [
  {
    title: "Overview",
    path: "overview",
    shows: (page) => page.getByRole("heading", { name: "Channels" }),
    async change({ page }) {
      await page.getByRole("button", { name: "Test echo" }).click();
      await page.getByText(/^echo answered in/).waitFor();
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
  },
];

async function seeAnEvent({ page }: Visitor, { gateway }: Setting): Promise<void> {
  await gateway.json("POST", "/v1/chat/completions", {
    model: "echo",
    messages: [{ role: "user", content: "an event" }],
  });
  await page.locator("details").filter({ hasText: "message:received" }).first().waitFor();
}
