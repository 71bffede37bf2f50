/** The dashboard's sections and what is usual on them. */
import type { Page } from "playwright-core";
import * as assert from "uvu/assert";
import { PATIENCE_MS, until } from "../../support/until.ts";
import {
  EVIL,
  openSection,
  picture,
  signIn,
  test,
  testSignedIn,
  visit,
  type Visitor,
  visitSignedIn,
} from "./support.ts";

const focused = (page: Page) =>
  page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.id");
const isHacked = ({ page }: Visitor) => page.evaluate("window.hacked");

test("a wrong token is reported as wrong, the right one opens, and signing out closes", async ({
  gateway,
  chromium,
}) => {
  const { page } = await visit(chromium, gateway.url);
  await signIn(page, "not-the-token");
  await page.getByText("That token is wrong.").waitFor();
  await picture(page, "wrong-token");
  await signIn(page, "10 €");
  await page.getByText("it contains characters that a browser cannot send.").waitFor();
  await signIn(page, gateway.token);
  await page.getByRole("heading", { name: "Health" }).waitFor();
  assert.is(await focused(page), "main");
  assert.is(await page.evaluate("localStorage.length"), 0);
  await page.reload();
  await page.getByRole("heading", { name: "Health" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("The gateway's token or password").waitFor();
  assert.is(await page.evaluate("sessionStorage.length"), 0);
  await page.context().close();
});

testSignedIn("overview: health, and channels with their plots", async (visitor) => {
  const { page } = visitor;
  await page.getByRole("status").getByText("ready", { exact: true }).waitFor();
  const away = page.getByRole("row").filter({ hasText: "away" });
  await away.getByRole("img", { name: /^Errors of away: [1-9]/ }).waitFor();
  await away.locator(".chart.bars rect").first().waitFor({ state: "attached" });
  const echo = page.getByRole("row").filter({ hasText: "echo" });
  await echo.getByRole("img", { name: /^Latency of echo: .*ms/ }).waitFor();
  await echo.getByRole("button", { name: "Test echo" }).click();
  await page.getByText(/^echo responded in/).waitFor();
  await picture(page, "overview");
});

testSignedIn(
  "overview: a plot ends at its right edge, and one value alone draws nothing",
  async (visitor) => {
    const { page } = visitor;
    const latency = (values: (number | null)[]) =>
      page.route("**/dashboard/channels", (route) => {
        const echo = { latency: values, failed: values.map(() => 0) };
        const away = { latency: [null], failed: [1] };
        return route.fulfill({ json: { stepMs: 60_000, channels: { echo, away } } });
      });
    const plot = page.getByRole("img", { name: /^Latency of echo/ });
    const path = plot.locator("path");
    await latency([5]);
    await openSection(visitor, "Chat");
    await openSection(visitor, "Overview");
    await plot.waitFor();
    assert.is(await path.count(), 0);
    await latency([null, 5, 10, null, 7]);
    await path.waitFor({ state: "attached" });
    const shape = (await path.getAttribute("d")) ?? "";
    assert.match(shape, /^M114\.\d \S+L116\.\d \S+$/, "the two neighbours, and not the one alone");
  },
);

testSignedIn("each section is filled, and what others wrote stays text", async (visitor) => {
  const { page } = visitor;
  await openSection(visitor, "Hooks");
  const broken = page.getByRole("row").filter({ hasText: "broken" });
  await broken.getByText(`no luck ${EVIL}`).waitFor();
  await picture(page, "hooks");
  await broken.getByRole("button", { name: "Disable broken" }).click();
  await broken.getByText("disabled", { exact: true }).waitFor();
  await broken.getByRole("button", { name: "Enable broken" }).click();
  await broken.getByText("active", { exact: true }).waitFor();
  await broken.getByRole("link", { name: "broken" }).click();
  await page.getByRole("heading", { name: "Log lines of the hook" }).waitFor();

  await openSection(visitor, "Plugins");
  await page.getByRole("row").filter({ hasText: "dashboard" }).getByText("active").waitFor();
  await picture(page, "plugins");

  await openSection(visitor, "Sessions");
  await page.getByRole("link", { name: "kitchen" }).click();
  await page.locator(".transcript").getByText(`Remember ${EVIL}`).first().waitFor();
  await picture(page, "sessions");

  await openSection(visitor, "Cron");
  await page.getByText(`Make tea ${EVIL}`).waitFor();
  await page.getByRole("button", { name: "Run now: tea time" }).click();
  await page.getByText("tea time: run now done").waitFor();
  await page.getByRole("link", { name: "tea time" }).click();
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await page.locator(".detail .timeline").getByText("manual").waitFor();
  await picture(page, "cron");

  await openSection(visitor, "Polls");
  await page.getByRole("button", { name: "Disable: news" }).click();
  await page.getByRole("row").filter({ hasText: "news" }).getByText("disabled").waitFor();
  await picture(page, "polls");

  await openSection(visitor, "Deliveries");
  await page.getByRole("button", { name: /^Replay/ }).click();
  await page.getByText(/^Started again as del_/).waitFor();
  await page.getByText(/^replay of del_/).waitFor();
  await page.getByRole("link", { name: "wake" }).last().click();
  await page.locator("pre").getByText("Ding").waitFor();
  await picture(page, "deliveries");

  assert.is(await isHacked(visitor), undefined);
  assert.is(await page.locator("main img[src=x], main script").count(), 0);
});

testSignedIn("chat: a streamed answer, with the keyboard alone", async (visitor) => {
  const { page } = visitor;
  await openSection(visitor, "Chat");
  await page.getByLabel("Model").selectOption("echo");
  await page.getByLabel("Message").focus();
  await page.keyboard.type(`one two ${EVIL}`);
  await page.keyboard.press("Enter");
  const reply = page.locator(".message.assistant");
  await reply.getByText(`one two ${EVIL}`).waitFor();
  await reply.getByText(/^echo · echo · \d+ ms/).waitFor();
  assert.is(await isHacked(visitor), undefined);
  await page.getByLabel("Model").selectOption("away/gone");
  await page.getByLabel("Message").fill("anybody?");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".message .problem").waitFor();
  await picture(page, "chat");
  await until("the browser's own note of the failure", () => visitor.complaints.length > 0);
  assert.equal(visitor.complaints.splice(0), [
    "Failed to load resource: the server responded with a status of 502 (Bad Gateway)",
  ]);
});

testSignedIn("events come as they happen", async (visitor, { gateway }) => {
  const { page } = visitor;
  await openSection(visitor, "Events");
  await page.getByText("live", { exact: true }).waitFor();
  await gateway.json("POST", "/v1/chat/completions", {
    model: "echo",
    messages: [{ role: "user", content: EVIL }],
  });
  const received = page.locator("details").filter({ hasText: "message:received" }).first();
  await received.locator("summary").click();
  await received.getByText("window.hacked=1").waitFor();
  await picture(page, "events");
  await page.getByLabel("Event", { exact: true }).fill("chat:response");
  await page
    .locator("details")
    .filter({ hasText: "message:received" })
    .first()
    .waitFor({ state: "detached" });
  await page.locator("details").filter({ hasText: "chat:response" }).first().waitFor();
  assert.is(await isHacked(visitor), undefined);
});

/** The page changes while a visitor presses; the press must still count where it began. */
for (const key of ["the mouse", "the space bar"])
  testSignedIn(
    `events: a press with ${key} counts, though the list changes before it ends`,
    async (visitor, setting) => {
      const { page } = visitor;
      const send = (content: string) =>
        setting.gateway.json("POST", "/v1/chat/completions", {
          model: "echo",
          messages: [{ role: "user", content }],
        });
      await openSection(visitor, "Events");
      await page.getByText("live", { exact: true }).waitFor();
      await send(`before ${key}`);
      const entry = page
        .locator("details")
        .filter({ hasText: "message:received" })
        .filter({ hasText: `before ${key}` });
      const pressed = entry.locator("summary");
      const response = page.locator("details").filter({ hasText: "chat:response" });
      await response.first().waitFor();
      const count = await response.count();

      if (key === "the mouse") {
        await pressed.hover();
        await page.mouse.down();
      } else {
        await pressed.focus();
        await page.keyboard.down("Space");
      }
      await page.evaluate(`void (globalThis.nextEvent = new Promise((resolve) =>
        addEventListener("portico:event",
          () => requestAnimationFrame(() => requestAnimationFrame(resolve)), { once: true })))`);
      await send(`during ${key}`);
      await page.evaluate("globalThis.nextEvent");
      if (key === "the mouse") await page.mouse.up();
      else await page.keyboard.up("Space");

      await entry.getByText(`before ${key}`).waitFor();
      await until("the new events are shown", async () => (await response.count()) > count);
    },
  );

testSignedIn("what is done with the keyboard leaves it where it was", async (visitor) => {
  const { page } = visitor;
  const focus = () => focused(page);
  await openSection(visitor, "Hooks");
  await page.getByRole("button", { name: "Disable quiet" }).press("Enter");
  await page.getByRole("button", { name: "Enable quiet" }).waitFor();
  assert.is(await focus(), "Enable quiet");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Disable quiet" }).waitFor();
  assert.is(await focus(), "Disable quiet");
  await page.getByRole("button", { name: "Reload quiet" }).press("Enter");
  await page.getByText("quiet: reloaded").waitFor();
  assert.is(await focus(), "Reload quiet");
});

testSignedIn(
  "the next person who signs in does not see the conversation",
  async (visitor, { gateway }) => {
    const { page } = visitor;
    await openSection(visitor, "Chat");
    await page.getByLabel("Model").selectOption("echo");
    await page.getByLabel("Message").fill("between us");
    await page.getByLabel("Message").press("Enter");
    await page.locator(".message.assistant").getByText("between us").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await signIn(page, gateway.token);
    await page.getByLabel("Message").waitFor();
    assert.is(await page.getByText("between us").count(), 0);
  },
);

test("many tabs share one feed, and the others continue when any of them closes", async (at) => {
  const { gateway } = at;
  const visitor = await visitSignedIn(at);
  const context = visitor.page.context();
  const tabs = [visitor.page];
  for (let i = 0; i < 6; i++) {
    // Most are opened from the first one, whose token they have: they also share its process. The last has its own.
    const opened = context.waitForEvent("page", { timeout: PATIENCE_MS });
    const isOwn = i > 4;
    if (isOwn) await context.newPage();
    else await visitor.page.evaluate("void open('/#/events')");
    const page = await opened;
    page.setDefaultTimeout(PATIENCE_MS);
    if (isOwn) {
      await page.goto(`${gateway.url}/#/events`);
      await signIn(page, gateway.token);
    }
    await page.getByText("live", { exact: true }).waitFor();
    tabs.push(page);
  }
  const untilAllShow = async (left: typeof tabs) => {
    await gateway.json("POST", "/v1/chat/completions", {
      model: "echo",
      messages: [{ role: "user", content: "all" }],
    });
    for (const tab of left)
      await tab.locator("details").filter({ hasText: "message:received" }).first().waitFor();
  };
  await untilAllShow(tabs.slice(1));
  for (const tab of tabs.slice(0, 5)) await tab.close();
  const [next, last] = tabs.slice(5) as [Page, Page];
  await last.reload();
  await until("the feed, in both that are left", async () => {
    await gateway.json("POST", "/v1/chat/completions", {
      model: "echo",
      messages: [{ role: "user", content: "more" }],
    });
    // What comes while one takes the feed over from another may reach only one of the two.
    const ofNext = next.locator("details").filter({ hasText: "more" });
    return (await last.locator("details").count()) > 0 && (await ofNext.count()) > 0;
  });
  assert.equal(visitor.complaints, []);
  await context.close();
});
