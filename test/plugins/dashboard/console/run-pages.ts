/** The pages of "Run". */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import { type Setting, type Visitor, visitSignedIn } from "../support.ts";
import type { PageRow } from "./page-rows.ts";

export const runPages: PageRow[] = [
  {
    title: "Channels and models",
    path: "channels",
    shows: (page) => page.getByRole("link", { name: "away" }),
    change: addAChannel,
  },
  {
    title: "One channel",
    path: "channels/away",
    shows: (page) =>
      page.locator(".detail").getByRole("heading", { name: "Models in the last 24 hours" }),
    change: changeAChannelInTwoBrowsers,
  },
  {
    title: "Keys",
    path: "keys",
    shows: (page) => page.getByRole("heading", { name: "Client keys" }),
    change: createAndChangeAKey,
  },
  {
    title: "One key",
    path: "keys/laptop",
    shows: (page) =>
      page.locator(".detail").getByRole("heading", { name: "Usage in the last 30 days" }),
    change: rotateAndRevoke,
  },
  {
    title: "Configuration",
    path: "configuration",
    shows: (page) => page.getByRole("button", { name: /^Restore version/ }).first(),
  },
  {
    title: "One setting",
    path: "configuration/agents.defaults.maxSteps",
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
    title: "Gateways",
    path: "gateways",
    shows: (page) => page.getByRole("cell", { name: /this one/ }),
  },
  {
    title: "Audit trail",
    path: "audit",
    shows: (page) => page.locator("tbody tr").first(),
    async change({ page }) {
      await page.getByLabel("Outcome").selectOption("made");
      await page.locator("tbody a").first().press("Enter");
      await page.locator(".detail").getByText("principal").waitFor();
    },
  },
];

async function addAChannel({ page }: Visitor, { gateway }: Setting): Promise<void> {
  await page.getByText("Try a model").click();
  await page.getByLabel("Model", { exact: true }).selectOption("echo");
  await page.getByLabel("Message").fill("ping from the console");
  await page.getByRole("button", { name: "Send" }).click();
  const outcome = page.getByRole("status", { name: "Result of the test" });
  await outcome.getByText("echo / echo").waitFor();
  await page.getByRole("button", { name: "Add a channel" }).click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Name").fill("second");
  await form.getByLabel("Provider").selectOption("echo");
  await form.getByLabel("Weight").fill("3");
  await form.getByRole("button", { name: "Review" }).click();
  await page
    .getByRole("dialog", { name: "Add the channel second" })
    .getByRole("button", { name: "Save" })
    .click();
  await page.getByRole("link", { name: "second" }).waitFor();
  await page.getByText(/^second responded in/).waitFor();
  await page.getByRole("button", { name: "Add an alias" }).click();
  await form.getByLabel("Name").fill("fast");
  await form.getByLabel("Targets").fill("second/echo\naway/gone");
  await form.getByRole("button", { name: "Review" }).click();
  await page
    .getByRole("dialog", { name: "Save the alias fast" })
    .getByRole("button", { name: "Save" })
    .click();
  await page.getByRole("button", { name: "Edit fast" }).waitFor();
  const { value } = await gateway.json("GET", "/kernel/config");
  assert.equal(value.channels.second, { provider: "echo", weight: 3 });
  assert.equal(value.models.fast, { targets: ["second/echo", "away/gone"] });
}

/** Both forms are made from one version: the second one that saves is shown what the first one did, and keeps it. */
async function changeAChannelInTwoBrowsers(visitor: Visitor, setting: Setting): Promise<void> {
  const other = await visitSignedIn(setting);
  await other.page.goto(`${setting.gateway.url}/#/channels/away`);
  const fill = async ({ page }: Visitor, label: string, text: string) => {
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByRole("dialog").getByLabel(label, { exact: true }).fill(text);
  };
  await fill(visitor, "Priority", "-2");
  await fill(other, "Weight", "5");
  const dialogs = [visitor, other].map(({ page }) =>
    page.getByRole("dialog", { name: "Change the channel away" }),
  );
  for (const { page } of [visitor, other])
    await page.getByRole("button", { name: "Review", exact: true }).click();
  await dialogs[1]!.getByText("channels.away.weight").waitFor();
  await dialogs[0]!.getByRole("button", { name: "Save" }).click();
  await visitor.page.getByText(/^Saved: channels\.away\.priority/).waitFor();
  await dialogs[1]!.getByRole("button", { name: "Save" }).click();
  await dialogs[1]!.getByRole("button", { name: "Review my changes on top of these" }).click();
  await dialogs[1]!.getByRole("button", { name: "Save" }).click();
  await other.page.getByText(/^Saved: channels\.away\.weight/).waitFor();
  const away = async () =>
    (await setting.gateway.json("GET", "/kernel/config")).value.channels.away;
  assert.equal([(await away()).priority, (await away()).weight], [-2, 5]);
  await other.page.getByRole("button", { name: "Undo" }).click();
  await until("the undo", async () => (await away()).weight === undefined);
  assert.is((await away()).priority, -2, "the other change stays");
  await other.page.context().close();
}

async function createAndChangeAKey({ page }: Visitor, { gateway }: Setting): Promise<void> {
  const form = page.getByRole("dialog");
  await page.getByRole("button", { name: "Create a key" }).click();
  await form.getByLabel("Name").fill("no spaces");
  await form.getByRole("button", { name: "Create" }).click();
  await form.getByRole("alert").filter({ hasText: "name" }).first().waitFor();
  await form.getByLabel("Name").fill("laptop");
  await form.getByLabel("Budget in US dollars").fill("5");
  await form.getByRole("button", { name: "Create" }).click();
  const secret = page.getByRole("dialog", { name: "The secret of laptop" });
  const key = (await secret.locator("pre").textContent()) ?? "";
  await secret.getByRole("button", { name: "Done" }).click();
  const body = { model: "echo", messages: [{ role: "user", content: "hi" }] };
  assert.is(
    (await gateway.request("POST", "/v1/chat/completions", body, { token: key })).status,
    200,
  );
  await page.getByRole("link", { name: "laptop" }).click();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await form.getByLabel("Requests per minute").fill("30");
  await form.getByRole("button", { name: "Save" }).click();
  await page.locator(".detail").getByText("30 requests per minute").waitFor();
  const { requestsPerMinute, budget } = await gateway.json("GET", "/keys/laptop");
  assert.equal([requestsPerMinute, budget], [30, { usd: 5, per: "month" }]);
  await page.getByRole("button", { name: "Undo" }).click();
  const limit = async () => (await gateway.json("GET", "/keys/laptop")).requestsPerMinute;
  await until("the undo of the edit", async () => (await limit()) === undefined);
  assert.equal((await gateway.json("GET", "/keys/laptop")).budget, budget, "the rest stays");
}

async function rotateAndRevoke({ page }: Visitor, { gateway }: Setting): Promise<void> {
  await page.getByRole("button", { name: "Rotate" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
  const secret = page.getByRole("dialog", { name: "The secret of laptop" });
  await secret.getByRole("button", { name: "Done" }).click();
  await page.locator(".detail").getByText("old secret valid until").waitFor();
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  assert.is((await gateway.json("GET", "/keys")).keys.length, 1, "nothing happens without a yes");
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("There are no client keys yet.").waitFor();
}

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
  await visitor.page.getByText(/^Saved: /).waitFor();
  await second!.click();
  await dialogs[1]!.getByText("Nothing was saved. You still have your own changes.").waitFor();
  await dialogs[1]!.getByRole("button", { name: "Review my changes on top of these" }).click();
  await second!.click();
  await other.page.getByText(/^Saved: /).waitFor();
  assert.is(stored().agents.defaults.maxSteps, 11);
  await until("the second change", () => stored().requests?.keep === 700);
  await other.page.context().close();
}
