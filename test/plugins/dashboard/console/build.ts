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
    change: chatInMarkdown,
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
      await form.getByLabel("Task for the agent").fill("say hello");
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
      await page.getByRole("button", { name: "Continue this session" }).click();
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
    change: makeAMappingOfARequest,
  },
  {
    title: "One mapping",
    path: "mapping/shop",
    shows: (page) => page.getByRole("heading", { name: "Preview" }),
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
    shows: (page) => page.locator(".detail").getByRole("heading", { name: "Next run times" }),
    async change({ page }) {
      await page.locator(".detail").getByRole("button", { name: "Run now: tea time" }).click();
      await page.getByText("tea time: run now done").waitFor();
      await page.locator(".detail .timeline").getByText("manual").first().waitFor();
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
  await page.getByLabel("The content of the event, as JSON").fill('{"content": "one"}');
  await page.getByRole("button", { name: "Test the hook" }).click();
  const outcome = page.getByRole("status", { name: "Result of the test" });
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
  await page.locator(".detail").getByRole("heading", { name: "Next run times" }).waitFor();
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
  await form.getByLabel("Watches").selectOption("file");
  await form.getByLabel("Path").fill("news.txt");
  await form.getByRole("textbox", { name: "Message" }).fill("There is {item.text}");
  await form.getByRole("button", { name: "Add" }).click();
  await page.locator(".detail").getByRole("button", { name: "Test" }).click();
  const dialog = page.getByRole("dialog", { name: "What a check of the news file would find now" });
  await dialog.getByText(/There is first/).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  const { polls } = await gateway.json("GET", "/polls");
  assert.ok(polls.some(({ name }: { name: string }) => name === "the news file"));
}

/** Text of a model becomes elements; what looks like markup stays text, and a link leads to the web only. */
async function chatInMarkdown({ page }: Visitor): Promise<void> {
  await page.getByLabel("Model").selectOption("echo");
  await page.getByText("System prompt and parameters").click();
  await page.getByLabel("System prompt").fill("Be brief");
  await page.getByLabel("Temperature").fill("warm");
  await page
    .getByLabel("Message")
    .fill("# Title\n\n- **bold** &amp; `code`\n\n<b>raw</b> [x](javascript:alert(1))");
  await page.getByLabel("Message").press("Enter");
  await page.getByRole("alert").getByText("This must be a number.").waitFor();
  await page.getByLabel("Temperature").fill("0.5");
  const file = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("from a file") };
  await page.getByLabel("Attach files").setInputFiles(file);
  await page.getByText("notes.txt, 11 bytes").waitFor();
  await page.getByRole("button", { name: "Send" }).click();
  const reply = page.locator(".message.assistant");
  await reply.getByText(/^echo · echo · \d+ ms · \d+ \+ \d+ tokens · \$0/).waitFor();
  await reply.getByText("from a file").waitFor();
  await reply.locator("strong").getByText("bold").waitFor();
  await reply.locator("code").getByText("code").waitFor();
  await reply.getByText("<b>raw</b>").waitFor();
  assert.is(await reply.locator("a[href^=javascript], b").count(), 0);
}

/** A request that came in before the mapping existed is its sample. */
async function makeAMappingOfARequest({ page }: Visitor, { gateway }: Setting): Promise<void> {
  const form = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add a mapping" }).click();
  await form.getByLabel("Name").fill("bell");
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?source=wake");
  await form.getByLabel("From a received request").selectOption(deliveries[0].id);
  await form.getByLabel("Credential").selectOption("github");
  await form.getByRole("button", { name: "Review" }).click();
  await form.getByText("The signing secret is missing.").waitFor();
  await form.getByLabel("Signing secret").fill("a-secret-of-the-sender");
  await form.getByRole("button", { name: "Review" }).click();
  const review = (name: string) => page.getByRole("dialog", { name });
  await review("Add the mapping bell").getByRole("button", { name: "Save" }).click();
  await page.getByLabel("Message", { exact: true }).fill("Ring: ");
  await page.getByRole("button", { name: "{body.text}" }).click();
  const outcome = page.getByRole("status", { name: "Outcome" });
  await outcome.getByText(/Ding/).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await review("Change the mapping bell").getByRole("button", { name: "Save" }).click();
  await page.getByText("bell: saved").waitFor();
  const { value } = await gateway.json("GET", "/kernel/config");
  const { message, verify } = value.webhooks.mappings.bell;
  assert.equal([message, verify.scheme], ["Ring: {body.text}", "github"]);
  await page.getByRole("link", { name: "All webhooks" }).click();
  await page.getByRole("button", { name: "Add a key" }).click();
  await form.getByLabel("Name", { exact: true }).fill("ci");
  await form.getByLabel("May call").fill("bell");
  await form.getByRole("button", { name: "Review" }).click();
  await review("Add the key ci").getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Edit the key ci" }).waitFor();
}
