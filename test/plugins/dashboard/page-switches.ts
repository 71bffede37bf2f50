/** The switches of hooks, plugins, jobs and polls: each can be undone, but not over somebody else's change. */
import type { Page } from "playwright-core";
import * as assert from "uvu/assert";
import type { InProcessGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { openSection, testSignedIn, type Visitor } from "./support.ts";

const undoButton = (page: Page) => page.getByRole("button", { name: "Undo", exact: true });

/** Takes the complaint that the browser itself logs for the refused undo. */
async function seeRefusal({ page, complaints }: Visitor): Promise<void> {
  const alert = page.getByRole("alert");
  await alert.getByText(/^Nothing was undone, /).waitFor();
  await alert.getByRole("button", { name: "Close" }).click();
  complaints.splice(0);
}

async function stateOf(
  gateway: InProcessGateway,
  kind: "hooks" | "plugins",
  name: string,
): Promise<string> {
  return (await gateway.json("GET", `/kernel/${kind}/${name}`)).state;
}

testSignedIn(
  "the switch of a hook is undone, but not what somebody else changed since",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    const { config } = gateway.gateway;
    const state = () => stateOf(gateway, "hooks", "quiet");
    const disable = page.getByRole("button", { name: "Disable quiet" });
    await openSection(visitor, "Hooks");
    await disable.click();
    await page.getByText("quiet is disabled.").waitFor();
    assert.is(await state(), "disabled");
    await undoButton(page).click();
    await until("the hook to be enabled", async () => (await state()) === "active");
    await disable.click();
    await undoButton(page).waitFor();
    await config.set("requests.keep", 321);
    await undoButton(page).click();
    await seeRefusal(visitor);
    assert.is(await state(), "disabled");
    await config.unset("requests.keep");
    await page.getByRole("button", { name: "Enable quiet" }).click();
    await until("the hook to be enabled", async () => (await state()) === "active");
  },
);

testSignedIn(
  "an undo restores what its own change replaced, also after somebody changed something and back",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    const { config } = gateway.gateway;
    await openSection(visitor, "Hooks");
    await page.getByRole("button", { name: "Disable quiet" }).click();
    await undoButton(page).waitFor();
    const version = await config.version();
    await config.set("requests.keep", 321);
    await config.restore(undefined);
    assert.is(await config.version(), version, "the file says again what it said");
    await undoButton(page).click();
    await until("the hook to be enabled", async () => {
      return (await stateOf(gateway, "hooks", "quiet")) === "active";
    });
    const { value } = await gateway.json("GET", "/kernel/config");
    assert.is.not(value.requests.keep, 321);
  },
);

testSignedIn(
  "a switch that finds everything as it should be offers no undo, which would be that of somebody else's change",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    await openSection(visitor, "Hooks");
    const disable = page.getByRole("button", { name: "Disable quiet" });
    await disable.waitFor();
    const list = await gateway.json("GET", "/kernel/hooks");
    await page.route("**/kernel/hooks", (route) => route.fulfill({ json: list }));
    await gateway.json("POST", "/kernel/hooks/quiet/disable");
    await disable.click();
    await page.locator("#toast").getByText("quiet is disabled.").waitFor();
    assert.is(await undoButton(page).count(), 0);
    await gateway.json("POST", "/kernel/hooks/quiet/enable");
  },
);

testSignedIn("the switch of a plugin is undone", async (visitor, { gateway }) => {
  const { page } = visitor;
  const state = () => stateOf(gateway, "plugins", "metrics");
  await openSection(visitor, "Plugins");
  await page.getByRole("button", { name: "Disable metrics" }).click();
  const dialog = page.getByRole("dialog", { name: "Disable the plugin metrics?" });
  await dialog.getByRole("button", { name: "Disable" }).click();
  await page.getByText("metrics is disabled.").waitFor();
  assert.is(await state(), "disabled");
  await undoButton(page).click();
  await until("the plugin to be enabled", async () => (await state()) === "active");
});

testSignedIn(
  "the switches of jobs and polls are undone, but not what somebody else changed since",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    const schedule = { kind: "every", everyMs: 3_600_000 };
    const payload = { kind: "systemEvent", text: "Water the plants" };
    const source = { kind: "file", path: "news.txt" };
    const job = await gateway.json("POST", "/cron/jobs", { name: "plants", schedule, payload });
    const poll = await gateway.json("POST", "/polls", {
      name: "plant prices",
      every: "1h",
      source,
      payload,
    });
    for (const { section, name, path } of [
      { section: "Cron", name: "plants", path: `/cron/jobs/${job.id}` },
      { section: "Polls", name: "plant prices", path: `/polls/${poll.id}` },
    ]) {
      const status = async () => (await gateway.json("GET", path)).status;
      const becomes = (expected: string) =>
        until(`${name} to be ${expected}`, async () => (await status()) === expected);
      const press = async (label: string) => {
        await page.getByRole("button", { name: `${label}: ${name}` }).click();
        await undoButton(page).waitFor();
      };
      await openSection(visitor, section);
      await press("Disable");
      assert.is(await status(), "disabled");
      await gateway.json("POST", `${path}/run`);
      await undoButton(page).click();
      await becomes("enabled");
      await press("Disable");
      await gateway.json("PATCH", path, { name: `${name} 2` });
      await undoButton(page).click();
      await seeRefusal(visitor);
      assert.is(await status(), "disabled");
      await page.getByRole("button", { name: `Enable: ${name} 2` }).click();
      await becomes("enabled");
      await undoButton(page).click();
      await becomes("disabled");
      await gateway.json("DELETE", path);
    }
  },
);
