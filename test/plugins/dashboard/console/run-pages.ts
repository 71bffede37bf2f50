/** The pages of "Run". */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import { type Setting, type Visitor, visitSignedIn } from "../support.ts";
import type { PageRow } from "./page-rows.ts";

export const runPages: PageRow[] = [
  {
    title: "Keys",
    path: "keys",
    shows: (page) => page.getByRole("heading", { name: "Client keys" }),
  },
  {
    title: "Configuration",
    path: "configuration",
    shows: (page) => page.getByLabel("agents.defaults.maxSteps", { exact: true }),
    change: saveTwiceAtOnce,
  },
  {
    title: "Deliveries",
    path: "deliveries",
    shows: (page) => page.getByRole("link", { name: "wake" }),
    async change({ page }) {
      await page.getByRole("button", { name: /^Replay/ }).click();
      await page.getByText(/^Started again as del_/).waitFor();
    },
  },
  {
    title: "One delivery",
    path: async ({ gateway }) => {
      const { deliveries } = await gateway.json("GET", "/webhooks/deliveries");
      return `deliveries/${deliveries[0].id}`;
    },
    shows: (page) => page.locator(".detail pre").getByText("Ding"),
  },
  {
    title: "Gateways and workers",
    path: "gateways",
    shows: (page) => page.getByText("One process does all the work"),
  },
];

/** Two browsers read the same version and save different keys: the second is shown the first's change, and both stay. */
async function saveTwiceAtOnce(visitor: Visitor, setting: Setting): Promise<void> {
  const other = await visitSignedIn(setting);
  const stored = () => JSON.parse(readFileSync(join(setting.gateway.home, "portico.json"), "utf8"));
  await other.page.goto(`${setting.gateway.url}/#/configuration`);
  await visitor.page.getByLabel("agents.defaults.maxSteps", { exact: true }).fill("11");
  await other.page.getByRole("searchbox", { name: "Filter" }).fill("requests.keep");
  await other.page.getByLabel("requests.keep", { exact: true }).fill("700");
  const dialogs = [visitor, other].map(({ page }) => page.getByRole("dialog"));
  for (const { page } of [visitor, other])
    await page.getByRole("button", { name: "Review and save" }).click();
  const [first, second] = dialogs.map((dialog) => dialog.getByRole("button", { name: "Save" }));
  await second!.waitFor();
  await first!.click();
  await visitor.page.getByText(/^Saved 1 change\./).waitFor();
  await second!.click();
  await dialogs[1]!.getByText("Nothing was saved. Your own changes are kept.").waitFor();
  await dialogs[1]!.getByRole("button", { name: "Review my changes on top of it" }).click();
  await second!.click();
  await other.page.getByText(/^Saved 1 change\./).waitFor();
  assert.is(stored().agents.defaults.maxSteps, 11);
  await until("the second change", () => stored().requests?.keep === 700);
  await other.page.context().close();
}
