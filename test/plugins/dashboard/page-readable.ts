/** The pages show raw data in readable form: groups, lists of lines, Markdown, and a chart of the busy time. */
import * as assert from "uvu/assert";
import { openSection, openSetting, picture, testSignedIn } from "./support.ts";

testSignedIn(
  "plugins are in groups, what fails first, and one search goes through all",
  async (visitor) => {
    const { page } = visitor;
    await page.route("**/kernel/plugins", async (route) => {
      const response = await route.fetch();
      const { plugins } = await response.json();
      const failing = { name: "adrift", state: "failed", error: "no luck", root: "managed" };
      await route.fulfill({ response, json: { plugins: [...plugins, failing] } });
    });
    await openSection(visitor, "Plugins");
    const titles = page.locator("th[scope=rowgroup]");
    await titles.first().waitFor();
    assert.equal(await titles.allTextContents(), ["Failing", "Features", "Providers", "Internals"]);
    const firstOf = (title: string) =>
      page
        .locator("tbody")
        .filter({ has: titles.getByText(title) })
        .locator("td:first-child");
    assert.match((await firstOf("Failing").allTextContents()).join(), /^adrift/);
    assert.ok((await firstOf("Providers").allTextContents()).includes("provider-echo"));
    assert.ok((await firstOf("Internals").allTextContents()).includes("store"));
    await picture(page, "plugins-groups");
    await page.getByRole("searchbox", { name: "Search this table" }).fill("provider-e");
    await page.getByRole("link", { name: "provider-echo" }).waitFor();
    assert.equal(await titles.allTextContents(), ["Providers"]);
    // The page keeps the text of a search while it is open.
    await page.getByRole("searchbox", { name: "Search this table" }).fill("");
  },
);

testSignedIn("a list of texts is edited with one entry per line", async (visitor, { gateway }) => {
  const { page } = visitor;
  const confirm = "agents.defaults.tools.confirm";
  const stored = async () => {
    const { value } = await gateway.json("GET", "/kernel/config");
    return value.agents.defaults.tools.confirm;
  };
  const save = async () => {
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText(`Saved: ${confirm}`).waitFor();
  };
  await openSetting(visitor, confirm);
  const field = page.getByLabel(confirm, { exact: true });
  await field.fill("exec\n\n  browser_*  \n");
  await save();
  assert.equal(await stored(), ["exec", "browser_*"]);
  assert.is(await field.inputValue(), "exec\nbrowser_*");
  await field.fill("");
  await save();
  assert.equal(await stored(), []);
  await page.getByRole("button", { name: `Use the default of ${confirm}` }).click();
  await save();
});

testSignedIn(
  "a result is plain text in the list and Markdown where it is opened",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    const { id } = await gateway.json("POST", "/cron/jobs", {
      name: "report",
      schedule: { kind: "every", everyMs: 3_600_000 },
      payload: { kind: "agentTurn", message: "x" },
    });
    const result = "# Report\n\n- **3** orders, see [the shop](https://shop.example)\n";
    const at = "2026-01-01T00:00:00.000Z";
    const run = {
      id: "r1",
      status: "ok",
      startedAt: at,
      durationMs: 5,
      trigger: "schedule",
      result,
    };
    await page.route("**/cron/jobs/*/runs?*", (route) => route.fulfill({ json: { runs: [run] } }));
    await openSection(visitor, "Cron");
    await page.getByRole("link", { name: "report" }).click();
    const summary = page.locator(".detail summary");
    await summary.waitFor();
    assert.is(await summary.textContent(), "Report 3 orders, see the shop");
    await summary.press("Enter");
    await page.locator(".detail li strong").getByText("3").waitFor();
    await picture(page, "cron-result");
    await gateway.json("DELETE", `/cron/jobs/${id}`);
  },
);

testSignedIn("one busy day is drawn by the hour", async (visitor) => {
  const { page } = visitor;
  const sums = { errors: 0, totalTokens: 10, costUsd: 0, unpriced: 0 };
  const requests: string[] = [];
  await page.route("**/usage?*", (route) => {
    const query = new URL(route.request().url()).searchParams;
    requests.push(String(query));
    const by = query.get("by") ?? "";
    const day = { from: "2026-10-02T10:00:00.000Z", to: "2026-11-01T10:00:00.000Z" };
    const hour = { from: "2026-10-20T00:00:00.000Z", to: "2026-10-20T23:59:59.999Z" };
    const names: Record<string, string> = { day: "2026-10-20", hour: "2026-10-20T08:00Z" };
    const row = { [by]: names[by] ?? "echo", requests: 3, ...sums };
    const json = { ...(by === "hour" ? hour : day), rows: [row], total: row };
    return route.fulfill({ json });
  });
  await openSection(visitor, "Usage");
  await page.getByRole("heading", { name: "Requests by hour" }).waitFor();
  await page.getByText("Usage only on 2026-10-20").waitFor();
  await page.locator(".usage-chart canvas").waitFor();
  assert.ok(requests.some((query) => /^from=2026-10-20&to=2026-10-20&by=hour$/.test(query)));
  await picture(page, "usage-busy-day");
});
