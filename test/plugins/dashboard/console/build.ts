/** The pages of "Build". */
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import type { Setting, Visitor } from "../support.ts";
import type { PageRow } from "./page-rows.ts";

export const buildPages: PageRow[] = [
  {
    title: "Chat",
    path: "chat",
    shows: (page) => page.getByLabel("Message"),
    async change({ page }) {
      await page.getByLabel("Model").selectOption("echo");
      await page.getByLabel("Message").fill("hello console");
      await page.getByLabel("Message").press("Enter");
      await page.locator(".message.assistant").getByText("hello console").waitFor();
    },
  },
  {
    title: "Hooks",
    path: "hooks",
    shows: (page) => page.getByRole("link", { name: "broken" }),
    async change({ page }, { gateway }) {
      await page.getByRole("button", { name: "Disable quiet" }).click();
      await until("the hook to be disabled", async () => {
        const { hooks } = await gateway.json("GET", "/kernel/status");
        return hooks.some(
          ({ name, state }: { name: string; state: string }) =>
            name === "quiet" && state === "disabled",
        );
      });
    },
  },
  {
    title: "One hook",
    path: "hooks/changing",
    shows: (page) => page.locator(".detail").getByRole("heading", { name: "Code on disk" }),
    change: tryAHook,
  },
  {
    title: "Plugins",
    path: "plugins",
    shows: (page) => page.getByRole("row").filter({ hasText: "dashboard" }).first(),
    async change({ page }) {
      await page.getByRole("button", { name: "Reload metrics" }).click();
      await page.getByText("metrics: reloaded").waitFor();
    },
  },
  {
    title: "One plugin",
    path: "plugins/cron",
    shows: (page) => page.locator(".detail").getByText("tool cron"),
  },
  {
    title: "Turns",
    path: "turns",
    shows: (page) => page.getByRole("link", { name: "kitchen" }),
    async change({ page }) {
      await page.getByRole("button", { name: "Start a turn" }).click();
      const form = page.getByRole("dialog");
      await form.getByLabel("What it is to do").fill("say hello");
      await form.getByLabel("Session").fill("from-the-console");
      await form.getByRole("button", { name: "Start" }).click();
      await page.locator(".detail").getByText("1. echo").waitFor();
    },
  },
  {
    title: "Sessions",
    path: "sessions/kitchen",
    shows: (page) =>
      page
        .locator(".detail")
        .getByText(/^Remember/)
        .first(),
    async change({ page }, { gateway }) {
      await page.getByRole("button", { name: "Go on with it" }).click();
      await page.getByRole("dialog").getByLabel("Message").fill("and now?");
      await page.getByRole("button", { name: "Send" }).click();
      await page.locator(".detail").getByText("1. echo").waitFor();
      const { messages } = await gateway.json("GET", "/sessions/kitchen");
      assert.match(JSON.stringify(messages), /and now\?/);
    },
  },
  {
    title: "Webhooks",
    path: "webhooks",
    shows: (page) => page.getByRole("link", { name: "Edit shop" }),
  },
  {
    title: "Cron",
    path: "cron",
    shows: (page) => page.getByText(/^Make tea/).first(),
    change: addAndChangeAJob,
  },
  {
    title: "One job",
    path: async ({ gateway }) => {
      const { jobs } = await gateway.json("GET", "/cron/jobs");
      return `cron/${jobs.find(({ name }: { name: string }) => name === "tea time").id}`;
    },
    shows: (page) => page.locator(".detail").getByRole("heading", { name: "Next dates" }),
    async change({ page }) {
      await page.locator(".detail").getByRole("button", { name: "Run now: tea time" }).click();
      await page.getByText("tea time: run now done").waitFor();
      await page.locator(".detail").getByRole("cell", { name: "manual" }).waitFor();
    },
  },
  {
    title: "Polls",
    path: "polls",
    shows: (page) => page.getByRole("row").filter({ hasText: "news" }),
    change: addAndTestAPoll,
  },
  {
    title: "Browser",
    path: "browser",
    shows: (page) => page.getByText("The browser is not running."),
  },
];

async function tryAHook({ page }: Visitor): Promise<void> {
  await page.getByLabel("What the event holds, as JSON").fill('{"content": "one"}');
  await page.getByRole("button", { name: "Try it" }).click();
  const outcome = page.getByRole("status", { name: "Outcome of the trial" });
  await outcome.getByText("- one").waitFor();
  await outcome.getByText("+ one, changed").waitFor();
  await page.locator(".detail").getByText("handler.ts", { exact: true }).click();
  await page.locator(".detail pre").getByText("export default async").waitFor();
}

async function addAndChangeAJob({ page }: Visitor, { gateway }: Setting): Promise<void> {
  const form = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add a job" }).click();
  await form.getByLabel("Name").fill("morning report");
  await form.getByLabel("Cron expression").fill("99 * * * *");
  await form
    .getByText(/minute/i)
    .last()
    .waitFor();
  await form.getByLabel("Cron expression").fill("30 7 * * 1");
  await form.getByText("At 07:30, only on Monday").waitFor();
  await form.getByLabel("Message").fill("Summarise the night");
  await form.getByRole("button", { name: "Save" }).click();
  await page.locator(".detail").getByRole("heading", { name: "Next dates" }).waitFor();
  await page.locator(".detail").getByRole("button", { name: "Edit" }).click();
  await form.getByLabel("Message").fill("Summarise the weekend");
  await form.getByRole("button", { name: "Save" }).click();
  await page.locator(".detail pre").getByText("Summarise the weekend").waitFor();
  const { jobs } = await gateway.json("GET", "/cron/jobs");
  const { schedule, payload } = jobs.find(
    ({ name }: { name: string }) => name === "morning report",
  );
  assert.is(schedule.expr, "30 7 * * 1");
  assert.is(payload.message, "Summarise the weekend");
  await page.locator(".detail").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("morning report is deleted").waitFor();
}

async function addAndTestAPoll({ page }: Visitor, { gateway }: Setting): Promise<void> {
  const form = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add a poll" }).click();
  await form.getByLabel("Name").fill("the news file");
  await form.getByLabel("Looks at").selectOption("file");
  await form.getByLabel("Path").fill("news.txt");
  await form.getByRole("textbox", { name: "Message" }).fill("There is {item.text}");
  await form.getByRole("button", { name: "Add" }).click();
  await page.locator(".detail").getByRole("button", { name: "Test" }).click();
  const found = page.getByRole("dialog", { name: "What the news file finds now" });
  await found.getByText(/There is first/).waitFor();
  await found.getByRole("button", { name: "Close" }).click();
  const { polls } = await gateway.json("GET", "/polls");
  assert.ok(polls.some(({ name }: { name: string }) => name === "the news file"));
}
