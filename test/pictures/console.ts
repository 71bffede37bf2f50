/** Pages of the console, of a gateway that has been used for a while. */
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type InProcessGateway, startGateway } from "../support/gateway.ts";
import { hookFiles } from "../support/hook-files.ts";
import { completion, json, startUpstream } from "../support/upstreams/upstream.ts";
import { openBrowser, signIn, visit } from "../plugins/dashboard/support.ts";

const SIZE = { width: 1280, height: 760 };
const QUESTIONS = ["What is new?", "Write to ada@example.com", "Summarise this", "Translate it"];

/** Resolves with the files. */
export async function takeConsolePictures(directory: string): Promise<string[]> {
  const upstream = await startUpstream(({ body }, res) => {
    if (body.model === "claude-sonnet-4-5")
      return json(res, { error: { message: "The model is overloaded." } }, 503);
    const usage = { prompt_tokens: 420, completion_tokens: 96, total_tokens: 516 };
    return json(res, { ...completion("Dear ada@example.com, here it is."), usage });
  });
  const gateway = await startGateway(settings(upstream.url));
  const chromium = await openBrowser();
  try {
    const id = await useGateway(gateway);
    const { page } = await visit(chromium, gateway.url);
    await page.setViewportSize(SIZE);
    await signIn(page, gateway.token);
    await page.getByRole("heading", { name: "Channels" }).waitFor();
    return [
      await take(page, join(directory, "console-overview.png")),
      await takeOf(page, gateway, `requests/${id}`, join(directory, "console-request.png")),
      await takeOf(page, gateway, "audit", join(directory, "console-audit.png")),
    ];
  } finally {
    await chromium.close();
    await gateway.stop();
    await upstream.close();
  }
}

function settings(baseUrl: string) {
  const channel = { provider: "openai", baseUrl, apiKey: "sk-of-the-picture", maxRetries: 0 };
  return {
    config: {
      channels: {
        main: { ...channel, models: ["gpt-4o", "gpt-4o-mini"] },
        claude: { ...channel, models: ["claude-sonnet-4-5"] },
        local: { ...channel, models: ["llama3.2"] },
      },
      models: {
        fast: "main/gpt-4o-mini",
        smart: { targets: ["claude/claude-sonnet-4-5", "main/gpt-4o"], strategy: "fallback" },
      },
      log: { content: true },
    },
    files: {
      ...hookFiles(
        "redact",
        'event.context.content = event.context.content.replace(/[\\w.]+@[\\w.]+/g, "[e-mail]");',
        { events: "message:sending", description: "Takes e-mail addresses out of answers" },
      ),
    },
  };
}

/** Some changes, and requests of two keys. Resolves with the id of one that fell back. */
async function useGateway(gateway: InProcessGateway): Promise<string> {
  const keys: string[] = [];
  for (const name of ["laptop", "ci"]) {
    const { key } = await gateway.json("POST", "/keys", { name, requestsPerMinute: 100 });
    keys.push(key);
  }
  await gateway.json("POST", "/cron/jobs", {
    name: "morning report",
    schedule: { kind: "cron", expr: "0 8 * * 1-5", tz: "Europe/Berlin" },
    payload: { kind: "systemEvent", text: "Write the morning report." },
  });
  await gateway.request("DELETE", "/keys/ci", undefined, { token: "wrong" });
  let fallback = "";
  for (const [i, model] of ["fast", "local/llama3.2", "smart", "fast", "smart", "fast"].entries()) {
    const body = { model, messages: [{ role: "user", content: QUESTIONS[i % QUESTIONS.length] }] };
    const token = keys[i % keys.length] as string;
    const response = await gateway.request("POST", "/v1/chat/completions", body, { token });
    await response.text();
    if (model === "smart") fallback = response.headers.get("x-request-id") ?? "";
  }
  return fallback;
}

async function takeOf(
  page: Page,
  gateway: InProcessGateway,
  address: string,
  path: string,
): Promise<string> {
  await page.goto(`${gateway.url}/#/${address}`);
  await page.locator("tbody tr").first().waitFor();
  if (address.includes("/")) await page.locator(".detail h3").first().waitFor();
  return take(page, path);
}

async function take(page: Page, path: string): Promise<string> {
  await page.screenshot({ path });
  return path;
}
