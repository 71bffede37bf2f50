/** The dashboard beside its usual ways: the browser's picture, a part that is off, a narrow and dark screen. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { until } from "../../support/until.ts";
import {
  EVIL,
  openSection,
  openSetting,
  order,
  picture,
  testSignedIn,
  USUAL_SIZE,
  visitSignedIn,
} from "./support.ts";

testSignedIn("the browser's tabs, with a live picture", async (visitor) => {
  const { page } = visitor;
  await openSection(visitor, "Browser");
  await page.getByText("The browser is not running.").waitFor();
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator(".tabs button").first().waitFor();
  const shown = page.getByRole("img", { name: "Screenshot of the tab" });
  await shown.waitFor();
  await until("the picture", () =>
    page.evaluate("document.querySelector('.picture').naturalWidth > 100"),
  );
  await picture(page, "browser");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("The browser is not running.").waitFor();
});

/** A model that calls `note` once, and then replies with the result. */
const NOTING = `import { definePlugin, Type } from "portico";
export default definePlugin({ name: "noting", setup(ctx) {
  ctx.tool({ name: "note", description: "Notes", parameters: Type.Object({ text: Type.String() }), handler: () => "noted" });
  ctx.add("provider", { name: "noting", builtinChannel: "noting", models: () => ["noting"],
    async complete({ messages }, info) {
      const last = messages.at(-1);
      const call = { id: "call_1", type: "function", function: { name: "note", arguments: JSON.stringify({ text: last.content }) } };
      const message = last.role === "tool" ? { role: "assistant", content: "heard " + last.content }
        : { role: "assistant", content: null, tool_calls: [call] };
      return { id: info.id, object: "chat.completion", created: info.created, model: "noting",
        choices: [{ index: 0, message, finish_reason: "stop" }] };
    } });
} });`;

testSignedIn(
  "calls that wait are allowed and refused with a button",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    gateway.write("plugins/noting/plugin.ts", NOTING);
    await until("the model", async () => {
      const { data } = await gateway.json("GET", "/v1/models");
      return data.some(({ id }: { id: string }) => id.endsWith("noting"));
    });
    await gateway.gateway.config.set("agents.defaults.tools", { confirm: ["note"] });
    const ask = async (session: string) =>
      (await gateway.json("POST", "/agent", { message: EVIL, model: "noting", session })).turnId;
    const ended = (id: string) =>
      until(`the end of ${id}`, async () => {
        const turn = await gateway.json("GET", `/turns/${id}`);
        return turn.state === "done" ? turn.trace[0].calls[0].decision : undefined;
      });
    const allowed = await ask("for-a-yes");
    await openSection(visitor, "Turns");
    await page.getByRole("button", { name: "Allow note" }).click();
    assert.is(await ended(allowed), "confirmed");
    const refused = await ask("for-a-no");
    await page.getByRole("button", { name: "Refuse note" }).click();
    assert.is(await ended(refused), "denied");
    await page.getByText("No tool call is waiting for you.").waitFor();
    await gateway.gateway.config.unset("agents.defaults.tools");
  },
);

const PENDING = `import { definePlugin } from "portico";
export default definePlugin({ name: "pending", setup(ctx) {
  ctx.add("provider", { name: "pending", builtinChannel: "pending", models: () => ["pending"],
    async complete(_request, info) {
      const content = await globalThis[Symbol.for("portico.test.pending")];
      return { id: info.id, object: "chat.completion", created: info.created, model: "pending",
        choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] };
    } });
} });`;

testSignedIn(
  "a running turn shows its steps, also on a page that is loaded again",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    let respond = (_content: string): void => {};
    (globalThis as Record<symbol, unknown>)[Symbol.for("portico.test.pending")] = new Promise(
      (resolve) => {
        respond = resolve;
      },
    );
    gateway.write("plugins/pending/plugin.ts", PENDING);
    await until("the model", async () => {
      const { data } = await gateway.json("GET", "/v1/models");
      return data.some(({ id }: { id: string }) => id.endsWith("pending"));
    });
    const body = { message: "wait", model: "pending", session: "a-live-turn" };
    const { turnId } = await gateway.json("POST", "/agent", body);
    await openSection(visitor, "Turns");
    await page.getByRole("link", { name: "a-live-turn" }).click();
    const step = page.locator(".detail .timeline li").filter({ hasText: "pending" });
    await step.getByText("running").waitFor();
    await page.reload();
    await step.getByText("so far").waitFor();
    respond("the end");
    await page.locator(".detail .message").getByText("the end").waitFor();
    await step.getByRole("link", { name: "request" }).waitFor();
    assert.is((await gateway.json("GET", `/turns/${turnId}`)).state, "done");
  },
);

testSignedIn("turns, usage, keys and logs", async (visitor, { gateway }) => {
  const { page } = visitor;
  await gateway.json("POST", "/keys", {
    name: "ann",
    requestsPerMinute: 30,
    expires: "2099-12-31",
  });
  await gateway.json("POST", "/agent", {
    message: "work",
    wait: true,
    session: "a-session-of-work",
  });
  await openSection(visitor, "Turns");
  await page.getByRole("link", { name: "a-session-of-work" }).waitFor();
  await openSection(visitor, "Usage");
  await page.getByRole("cell", { name: "echo" }).first().waitFor();
  await openSection(visitor, "Logs");
  await page.getByText("live", { exact: true }).waitFor();
  await openSection(visitor, "Keys");
  await page.getByRole("cell", { name: "30 requests per minute, expires 2099-12-31" }).waitFor();
  await page.getByRole("link", { name: "ann", exact: true }).click();
  await page.getByRole("button", { name: "Revoke" }).click();
  const dialog = page.getByRole("dialog", { name: "Revoke the key ann?" });
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await until("the key to go", async () => {
    const { keys } = await gateway.json<{ keys: { name: string; state: string }[] }>(
      "GET",
      "/keys",
    );
    return !keys.some(({ name, state }) => name === "ann" && state === "active");
  });
});

testSignedIn("a list that goes on says so, and shows more where somebody asks", async (visitor) => {
  const { page } = visitor;
  await page.route("**/sessions?limit=*", (route) => {
    const limit = Number(new URL(route.request().url()).searchParams.get("limit"));
    const at = "2026-01-01T00:00:00.000Z";
    const all = Array.from({ length: 150 }, (_, i) => ({
      id: `s-${i}`,
      messageCount: 1,
      createdAt: at,
      updatedAt: at,
    }));
    return route.fulfill({ json: { sessions: all.slice(0, limit) } });
  });
  await openSection(visitor, "Sessions");
  await page.getByText("Showing the newest 100.").waitFor();
  assert.is(await page.getByRole("link", { name: /^s-/ }).count(), 100);
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByRole("link", { name: "s-149" }).waitFor();
  assert.is(await page.getByRole("link", { name: /^s-/ }).count(), 150);
  assert.is(await page.getByText(/^Showing the newest/).count(), 0);
});

testSignedIn(
  "what has no known price costs an unknown sum, also where a part of it cost nothing",
  async (visitor) => {
    const { page } = visitor;
    const sums = { errors: 0, totalTokens: 10 };
    const rows = [
      { model: "free", requests: 2, costUsd: 0, unpriced: 0, ...sums },
      { model: "unpriced", requests: 1, costUsd: null, unpriced: 1, ...sums },
      { model: "unpriced-or-failed", requests: 2, costUsd: null, unpriced: 1, ...sums },
      { model: "mixed", requests: 2, costUsd: 1.5, unpriced: 1, ...sums },
    ];
    const range = { from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00Z" };
    const json = { ...range, rows, total: rows[3] };
    await page.route("**/usage?*", (route) => route.fulfill({ json }));
    await openSection(visitor, "Usage");
    await page.getByRole("cell", { name: "unpriced-or-failed" }).waitFor();
    const costs = page.locator("section", { hasText: "By model" }).locator("tbody td:last-child");
    assert.equal(await costs.allTextContents(), ["$0", "unknown", "unknown", "$1.50 or more"]);
  },
);

testSignedIn("the configuration is a form, which shows no secret", async (visitor, { gateway }) => {
  const { page } = visitor;
  const written = () => readFileSync(join(gateway.home, "portico.json"), "utf8");
  await openSection(visitor, "Configuration");
  const save = async () => {
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText(/^Saved: /).waitFor();
  };
  await openSetting(visitor, "agents.defaults.maxSteps");
  await page.getByLabel("agents.defaults.maxSteps", { exact: true }).fill("7");
  const bar = page.getByRole("region", { name: "Changes" });
  assert.is(await bar.textContent(), "1 change not saved yetReview and saveDiscard");
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("agents.defaults.maxSteps").waitFor();
  await dialog.getByText("+ 7").waitFor();
  assert.not.match(written(), /maxSteps"?: 7/, "a review writes nothing");
  await picture(page, "configuration-review");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^Saved: /).waitFor();
  assert.match(written(), /"?maxSteps"?: 7/);
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await until("the undo", () => !/maxSteps/.test(written()));
  // A secret is not read over a shoulder, whether or not there is one yet.
  await openSetting(visitor, "gateway.auth");
  for (const key of ["gateway.auth.token", "gateway.auth.password"]) {
    const field = page.getByLabel(key, { exact: true });
    assert.is(await field.inputValue(), "");
    assert.is(await field.getAttribute("type"), "password", key);
  }
  // What may be a number or a word is written as either.
  await openSetting(visitor, "agents.defaults.heartbeat.every");
  for (const value of ["45m", "0"]) {
    await page.getByLabel("agents.defaults.heartbeat.every", { exact: true }).fill(value);
    await save();
    await until("the value", async () => {
      const { value: config } = await gateway.json("GET", "/kernel/config");
      return String(config.agents.defaults.heartbeat.every) === value;
    });
  }
  await openSetting(visitor, "gateway.port");
  await page.getByLabel("gateway.port", { exact: true }).fill("18799");
  await page.getByRole("button", { name: "Review and save" }).click();
  await dialog.getByText("gateway.port takes effect at the next start of the gateway.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Discard" }).click();
  const response = await gateway.request("GET", "/kernel/config");
  assert.not.match(await response.text(), gateway.token);
});

testSignedIn(
  "the sections of the configuration are closed until an address, a search, a change or a problem opens one, and remember it",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    const level = page.getByLabel("log.level", { exact: true });
    const steps = page.getByLabel("agents.defaults.maxSteps", { exact: true });
    const search = page.getByRole("searchbox", { name: "Filter" });
    const sections = page.getByRole("navigation", { name: "Sections" });
    await openSection(visitor, "Configuration");
    await sections.getByRole("link", { name: "log", exact: true }).waitFor();
    assert.is(await level.isVisible(), false);

    await search.fill("maxsteps");
    await steps.waitFor();
    await page.getByText("1 setting matches.").waitFor();
    assert.equal(await sections.getByRole("link").allTextContents(), ["agents"]);
    await search.fill("no such setting");
    await page.getByText("No settings match.").waitFor();
    await search.fill("");
    await steps.waitFor({ state: "hidden" });

    await sections.getByRole("link", { name: "log", exact: true }).click();
    await level.waitFor();
    await openSection(visitor, "Overview");
    await page.reload();
    await openSection(visitor, "Configuration");
    await level.waitFor();
    await page.locator("[data-key='section-log'] > summary").click();
    await level.waitFor({ state: "hidden" });

    await openSetting(visitor, "agents.defaults.maxSteps");
    await steps.fill("9");
    await sections.getByText("1 changed").waitFor();
    await openSection(visitor, "Overview");
    await openSection(visitor, "Configuration");
    assert.is(await steps.inputValue(), "9", "a change that is not saved keeps its section open");
    await steps.waitFor();
    await page.getByRole("button", { name: "Discard" }).click();

    const file = readFileSync(join(gateway.home, "portico.json"), "utf8");
    gateway.write("portico.json", file.replace(/^\{/, '{ "log": { "levle": "debug" },'));
    await until("the problem", async () => {
      await gateway.json("POST", "/kernel/config/refresh");
      return (await gateway.json("GET", "/kernel/config")).problem !== null;
    });
    await openSection(visitor, "Overview");
    await openSection(visitor, "Configuration");
    await page.getByText(/^The configuration file on disk is not active: /).waitFor();
    await level.waitFor();
    gateway.write("portico.json", file);
    await until("the file to be active", async () => {
      await gateway.json("POST", "/kernel/config/refresh");
      return !(await gateway.json("GET", "/kernel/config")).problem;
    });
    await openSection(visitor, "Overview");
    await openSection(visitor, "Configuration");

    await page.getByLabel("Only settings that the file sets").check();
    await sections.getByRole("link", { name: "webhooks", exact: true }).waitFor();
    assert.is(await sections.getByRole("link", { name: "telemetry" }).count(), 0);
  },
);

testSignedIn(
  "creating and disabling a key, and disabling a channel, are undone, but not what somebody else changed since",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    const stateOfBob = async () => {
      const { keys } = await gateway.json("GET", "/keys");
      return keys.find(({ name }: { name: string }) => name === "bob")?.state ?? "none";
    };
    const create = async () => {
      await page.getByRole("button", { name: "Create a key" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("bob");
      await page.getByRole("button", { name: "Create", exact: true }).click();
      const secret = page.getByRole("dialog", { name: "The secret of bob" });
      await secret.getByRole("button", { name: "Done" }).click();
    };
    const changeElsewhere = async (limits: object) => {
      const { version } = await gateway.json("GET", "/keys/bob");
      const headers = { "if-match": `"${version}"` };
      const changed = await gateway.request("PATCH", "/keys/bob", limits, { headers });
      assert.is(changed.status, 200);
    };
    const seeRefusal = async () => {
      await page
        .getByRole("alert")
        .getByText(/^Nothing was undone, /)
        .waitFor();
      await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
      // The browser notes the refusal by itself.
      visitor.complaints.splice(0);
    };
    const undo = page.getByRole("button", { name: "Undo", exact: true });

    await openSection(visitor, "Keys");
    await create();
    assert.is(await stateOfBob(), "active");
    await page.getByRole("button", { name: "Undo: revoke bob" }).click();
    await until("the key to be gone", async () => (await stateOfBob()) === "none");
    await create();
    await changeElsewhere({ requestsPerMinute: 7 });
    await page.getByRole("button", { name: "Undo: revoke bob" }).click();
    await seeRefusal();
    assert.is(await stateOfBob(), "active");

    await page.getByRole("link", { name: "bob", exact: true }).click();
    const toggle = (label: string) => page.getByRole("button", { name: label, exact: true });
    await toggle("Disable").click();
    await undo.click();
    await until("the key to be enabled", async () => (await stateOfBob()) === "active");
    await toggle("Disable").click();
    await undo.waitFor();
    await changeElsewhere({ requestsPerMinute: 8 });
    await undo.click();
    await seeRefusal();
    assert.is(await stateOfBob(), "disabled");

    const away = async () =>
      (await gateway.json("GET", "/kernel/config")).value.channels.away.enabled;
    await openSection(visitor, "Channels and models");
    await page.getByRole("link", { name: "away", exact: true }).click();
    await toggle("Disable").click();
    await undo.click();
    await until("the channel to be enabled", async () => (await away()) !== false);
    await toggle("Disable").click();
    await undo.waitFor();
    await gateway.gateway.config.set("requests.keep", 321);
    await undo.click();
    await seeRefusal();
    assert.is(await away(), false);
    await gateway.gateway.config.unset("channels.away.enabled");
    await gateway.gateway.config.unset("requests.keep");
  },
);

testSignedIn(
  "an entry of a map is changed beside its secret and its neighbours, and only removed by name",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    const stored = () => JSON.parse(readFileSync(join(gateway.home, "portico.json"), "utf8"));
    await openSection(visitor, "Configuration");
    const dialog = page.getByRole("dialog");
    const save = async () => {
      await page.getByRole("button", { name: "Review and save" }).click();
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText(/^Saved: /).waitFor();
    };
    await openSetting(visitor, "channels.away");
    await until("the address to open the entry and move the focus there", async () => {
      return (await page.evaluate("document.activeElement.textContent")) === "channels.away";
    });
    await page.getByLabel("Add a setting to channels.away").selectOption("timeoutMs");
    await page.getByLabel("channels.away.timeoutMs", { exact: true }).fill("4321");
    await save();
    assert.is(stored().channels.away.timeoutMs, 4321);
    assert.is(stored().channels.away.apiKey, "k");
    await page.getByLabel("Name of a new entry of channels", { exact: true }).fill("other");
    await page.getByRole("button", { name: "Add to channels", exact: true }).click();
    const added = page.getByLabel("channels.other (new)");
    await added.fill("{");
    await page.getByText("channels.other must be JSON").first().waitFor();
    await added.fill('{ "provider": "ekho" }');
    await page.getByRole("button", { name: "Review and save" }).click();
    await dialog.getByText(/ekho/).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await added.fill('{ "provider": "echo" }');
    await save();
    assert.equal(Object.keys(stored().channels), ["away", "other"]);
    await page.locator("[data-key='entry-channels.other'] > summary").click();
    await page.getByRole("button", { name: "Remove channels.other" }).click();
    assert.equal(Object.keys(stored().channels), ["away", "other"], "not yet");
    await picture(page, "configuration");
    await save();
    assert.equal(Object.keys(stored().channels), ["away"]);
    await page
      .getByText(/channels\.other/)
      .first()
      .waitFor();
  },
);

testSignedIn(
  "of two browsers that save at once, the second is shown the difference, and nothing is lost",
  async (visitor, setting) => {
    const { page } = visitor;
    const other = await visitSignedIn(setting);
    const stored = () =>
      JSON.parse(readFileSync(join(setting.gateway.home, "portico.json"), "utf8"));
    await openSetting(visitor, "agents.defaults.maxSteps");
    await openSection(other, "Configuration");
    await page.getByLabel("agents.defaults.maxSteps", { exact: true }).fill("11");
    await other.page.getByRole("searchbox", { name: "Filter" }).fill("log.level");
    await other.page.getByLabel("log.level", { exact: true }).selectOption("debug");
    for (const each of [page, other.page]) {
      await each.getByRole("button", { name: "Review and save" }).click();
      await each.getByRole("dialog").getByRole("button", { name: "Save" }).waitFor();
    }
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText(/^Saved: /).waitFor();
    const dialog = other.page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Nothing was saved. You still have your own changes.").waitFor();
    await dialog.getByText("agents.defaults.maxSteps").waitFor();
    await picture(other.page, "configuration-conflict");
    assert.is(stored().log?.level, undefined);
    await dialog.getByRole("button", { name: "Review my changes on top of these" }).click();
    await dialog.getByText("log.level").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await other.page.getByText(/^Saved: /).waitFor();
    assert.equal([stored().agents.defaults.maxSteps, stored().log.level], [11, "debug"]);
    // Back to where the other tests expect it.
    await other.page.getByRole("button", { name: "Undo", exact: true }).click();
    await until("the undo", () => stored().log?.level === undefined);
    await other.page.context().close();
  },
);

testSignedIn(
  "a mapping is edited on a request that was caught, tried before it is saved, and what goes out is posted again",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    await openSection(visitor, "Webhooks");
    await page.getByRole("link", { name: "Edit shop" }).click();
    await page.getByText(/^There is no sample yet/).waitFor();
    await page.getByRole("button", { name: "Capture the next matching request" }).click();
    const caught = page.getByRole("button", { name: "{body.order.id}" });
    await until("the caught request", async () => {
      await order(gateway, { order: { id: 7, note: EVIL } });
      return caught.isVisible();
    });
    await page.getByText("No value for {body.ordr.id}: did you mean {body.order.id}?").waitFor();
    await picture(page, "mapping-caught");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Nothing has changed").waitFor();
    const message = page.getByLabel("Message", { exact: true });
    await message.fill("Look at order ");
    await caught.click();
    await page.getByLabel("Session", { exact: true }).fill("order:");
    await caught.click();
    await page.getByLabel("Match", { exact: true }).fill('{ "body.order.id": 8 }');
    await page.getByText(/^Skipped/).waitFor();
    await page.getByLabel("Match", { exact: true }).fill('{ "body.order.id": 7 }');
    const outcome = page.getByRole("status", { name: "Outcome" });
    await outcome.getByText("In the session webhook:order:7").waitFor();
    await outcome.getByText("Look at order 7").waitFor();
    assert.is(await outcome.getByText(/No value/).count(), 0);
    await page.getByText("The request", { exact: true }).click();
    await picture(page, "mapping");
    await page.getByRole("button", { name: "Save" }).click();
    const review = page.getByRole("dialog", { name: "Change the mapping shop" });
    await review.getByRole("button", { name: "Save" }).click();
    await page.getByText("shop: saved", { exact: true }).waitFor();
    const { value } = await gateway.json("GET", "/kernel/config");
    assert.equal(value.webhooks.mappings.shop, {
      message: "Look at order {body.order.id}",
      match: { "body.order.id": 7 },
      session: "order:{body.order.id}",
    });
    await message.fill("{body.order.idd}");
    await page.getByRole("button", { name: "Save" }).click();
    await review.getByRole("button", { name: "Save" }).click();
    await review.getByText(/body\.order\.idd.*body\.order\.id/).waitFor();
    await review.getByRole("button", { name: "Cancel" }).click();

    const receiver = createServer((_request, response) => response.writeHead(410).end());
    receiver.listen(0, "127.0.0.1").unref();
    await once(receiver, "listening");
    const { port } = receiver.address() as AddressInfo;
    await gateway.json("POST", "/agent", {
      message: "hi",
      wait: true,
      delivery: { url: `http://127.0.0.1:${port}/nowhere` },
    });
    await openSection(visitor, "Deliveries");
    const out = page.getByRole("row").filter({ hasText: "nowhere" });
    await out.getByText("dead").waitFor();
    await out.getByRole("button", { name: /^Replay/ }).click();
    await page.getByText(/^Sending again as dlv_/).waitFor();
    await picture(page, "deliveries");
    await out.getByRole("link").click();
    await page.getByText("turn.completed", { exact: true }).waitFor();
    await picture(page, "delivery");
    assert.is(await page.evaluate("window.hacked"), undefined);
    receiver.close();
  },
);

testSignedIn(
  "a section whose plugin is off says so, and the others work",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    await gateway.json("POST", "/kernel/plugins/polls/disable");
    await openSection(visitor, "Polls");
    await page.getByText(/^This part of the gateway is not available/).waitFor();
    await gateway.json("POST", "/kernel/plugins/polls/enable");
    await page.getByRole("link", { name: "news" }).waitFor();
  },
);

testSignedIn("long names and texts push nothing else aside", async (visitor, { gateway }) => {
  const text = "y".repeat(2000);
  const every = { kind: "every", everyMs: 3_600_000 };
  const name = `long${"x".repeat(150)}`;
  await gateway.json("POST", "/cron/jobs", {
    name,
    schedule: every,
    payload: { kind: "systemEvent", text },
  });
  const { page } = visitor;
  await openSection(visitor, "Cron");
  const row = page.getByRole("row").filter({ hasText: name });
  await row.waitFor();
  await picture(page, "long");
  // On one line: as high as the badge beside it, or lower.
  const line = (await row.getByText("every 1 h").boundingBox())!;
  assert.ok(line.height < 40, `every 1 h is ${line.height} px high`);
  assert.ok((await row.boundingBox())!.height < 250);
  await page.setViewportSize({ width: 380, height: 800 });
  await openSection(visitor, "Webhooks");
  await page.getByRole("link", { name: "Edit shop" }).click();
  const heading = (await page.getByRole("heading", { name: "Sample" }).boundingBox())!;
  assert.ok(heading.height < 40, `Sample is ${heading.height} px high`);
  await page.setViewportSize(USUAL_SIZE);
});

testSignedIn("narrow and dark: nothing is cut off", async (visitor) => {
  const { page } = visitor;
  await page.setViewportSize({ width: 380, height: 800 });
  await page.emulateMedia({ colorScheme: "dark" });
  for (const section of [
    "Overview",
    "Chat",
    "Hooks",
    "Sessions",
    "Cron",
    "Configuration",
    "Webhooks",
    "Mapping",
  ]) {
    if (section === "Mapping") await page.getByRole("link", { name: "Edit shop" }).click();
    else await openSection(visitor, section);
    await page.getByText("Loading …").waitFor({ state: "detached" });
    await picture(page, `narrow-${section.toLowerCase()}`);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    assert.ok((width as number) <= 380, `${section} is ${width} px wide`);
  }
  await openSection(visitor, "Deliveries");
  await page.getByRole("link", { name: "wake" }).last().click();
  const opened = page.locator(".detail").getByRole("heading", { name: "wake" });
  await opened.waitFor();
  await until("what was opened to be in view", async () => {
    const box = await opened.boundingBox();
    return box !== null && box.y >= 0 && box.y < 800;
  });
  await page.setViewportSize(USUAL_SIZE);
  await page.emulateMedia({ colorScheme: null });
});
