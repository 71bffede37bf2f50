/** The pages of "Build". */
import { until } from "../../../support/until.ts";
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
    title: "Plugins",
    path: "plugins",
    shows: (page) => page.getByRole("row").filter({ hasText: "dashboard" }).first(),
  },
  {
    title: "Turns",
    path: "turns",
    shows: (page) => page.getByRole("link", { name: "kitchen" }),
  },
  {
    title: "Sessions",
    path: "sessions",
    shows: (page) => page.getByRole("link", { name: "kitchen" }),
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
    async change({ page }) {
      await page.getByRole("button", { name: "Run now: tea time" }).click();
      await page.getByText("tea time: run now done").waitFor();
    },
  },
  {
    title: "Polls",
    path: "polls",
    shows: (page) => page.getByRole("row").filter({ hasText: "news" }),
    async change({ page }) {
      await page.getByRole("button", { name: "Disable: news" }).click();
      await page.getByRole("row").filter({ hasText: "news" }).getByText("disabled").waitFor();
    },
  },
  {
    title: "Browser",
    path: "browser",
    shows: (page) => page.getByText("The browser is not running."),
  },
];
