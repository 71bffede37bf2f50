/** The dashboard's responses to clients other than browsers. */
import { readdirSync } from "node:fs";
import { extname, join } from "node:path";
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import { type InProcessGateway, makeHome, startGateway } from "../../support/gateway.ts";

test("the page and its files are public, contain no data, have a strict policy and an ETag", async () => {
  const gateway = await startGateway();
  try {
    const page = await gateway.request("GET", "/", undefined, { token: null });
    assert.is(page.status, 200);
    assert.is(page.headers.get("content-type"), "text/html; charset=utf-8");
    const policy = page.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'; script-src 'self';/);
    assert.not.match(policy, /unsafe/);
    const html = await page.text();
    assert.not.match(html, new RegExp(gateway.token));
    assert.not.match(
      html,
      /<script(?! type="module" src=)|<style| style=| on\w+=/,
      "nothing inline",
    );
    const files = [...html.matchAll(/(?:src|href)="(\/dashboard\/page\/[^"]+)"/g)].map(
      ([, path]) => path as string,
    );
    assert.ok(files.length >= 3);
    const checked = new Set<string>();
    for (const file of files) {
      if (checked.has(file)) continue;
      checked.add(file);
      const response = await gateway.request("GET", file, undefined, { token: null });
      assert.is(response.status, 200, file);
      const text = await response.text();
      assert.not.match(
        text,
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/,
        file,
      );
      assert.not.match(text, /https?:\/\/(?!www\.w3\.org|…)/, `${file} names no other server`);
      const etag = response.headers.get("etag") as string;
      const again = await gateway.request("GET", file, undefined, {
        headers: { "if-none-match": `"x", ${etag}` },
      });
      assert.is(again.status, 304);
      assert.is(await again.text(), "");
      for (const [, next] of text.matchAll(/^(?:import|export) [^;]*?from "([^"]+)"/gm))
        files.push(new URL(next as string, `http://x${file}`).pathname);
    }
    assert.ok(checked.size > 12, `${checked.size} files`);
  } finally {
    await gateway.stop();
  }
});

const requestFile = (gateway: InProcessGateway, file: string, encodings: string) =>
  gateway.request("GET", `/dashboard/page/${file}`, undefined, {
    headers: { "accept-encoding": encodings },
  });

test("all files together, the libraries too, are below 150 kB compressed", async () => {
  const gateway = await startGateway();
  try {
    const root = join(import.meta.dirname, "../../../plugins/dashboard/page");
    const own = readdirSync(root, { recursive: true, encoding: "utf8" });
    const libraries = ["uplot/uPlot.iife.min.js", "uplot/uPlot.min.css", "marked/marked.esm.js"];
    const files = [...own.filter((name) => extname(name) !== ""), ...libraries];
    let total = 0;
    for (const file of files) {
      // As browsers ask a gateway on this machine or behind TLS.
      const response = await requestFile(gateway, file, "gzip, deflate, br");
      const encoding = /\.png$/.test(file) ? null : "br";
      assert.equal(
        [response.status, response.headers.get("content-encoding")],
        [200, encoding],
        file,
      );
      total += Number(response.headers.get("content-length"));
    }
    assert.ok(total > 50_000 && total < 150_000, `${total} bytes`);
    for (const [accepted, encoding] of [
      ["gzip", "gzip"],
      ["br;q=0, gzip;q=0.5", "gzip"],
      ["identity", null],
    ] as const) {
      const response = await requestFile(gateway, "main.js", accepted);
      assert.is(response.headers.get("content-encoding"), encoding, accepted);
      assert.match(await response.text(), /^\/\*\* /, "what was compressed is whole");
    }
  } finally {
    await gateway.stop();
  }
});

test("the last hour of the channels is available after a restart", async () => {
  const home = makeHome();
  const away = { provider: "openai", baseUrl: "http://127.0.0.1:9/v1", apiKey: "k", maxRetries: 0 };
  const failures = async (gateway: InProcessGateway): Promise<number> => {
    const { channels } = await gateway.json("GET", "/dashboard/channels");
    return channels.away.failed.reduce((sum: number, count: number) => sum + count, 0);
  };
  const first = await startGateway({ home, config: { channels: { away } } });
  const body = { model: "away/m", messages: [{ role: "user", content: "hi" }] };
  assert.is((await first.request("POST", "/v1/chat/completions", body)).status, 502);
  assert.is(await failures(first), 1);
  await first.stop();
  const second = await startGateway({ home });
  try {
    assert.is(await failures(second), 1);
  } finally {
    await second.stop();
  }
});

test("only the files of the page are served", async () => {
  const gateway = await startGateway();
  try {
    for (const path of [
      "../plugin.ts",
      "%2e%2e%2fplugin.ts",
      "..%2f..%2f..%2fpackage.json",
      "views",
      "none.js",
      "",
    ]) {
      const response = await gateway.request("GET", `/dashboard/page/${path}`);
      assert.is(response.status, 404, path);
    }
  } finally {
    await gateway.stop();
  }
});

test("the browser's routes need the token, and respond with an error if there is no browser", async () => {
  const gateway = await startGateway({
    config: { plugins: { entries: { browser: { enabled: false } } } },
  });
  try {
    for (const path of ["profiles", "tabs", "screenshot"]) {
      assert.is(
        (await gateway.request("GET", `/dashboard/browser/${path}`, undefined, { token: null }))
          .status,
        401,
      );
      const response = await gateway.request("GET", `/dashboard/browser/${path}`);
      assert.is(response.status, 503);
      assert.is(((await response.json()) as any).error.code, "service_unavailable");
    }
    assert.is(
      (await gateway.request("POST", "/dashboard/browser/start", undefined, { token: null }))
        .status,
      401,
    );
  } finally {
    await gateway.stop();
  }
});

test("a browser that does not run has no screenshot", async () => {
  const gateway = await startGateway();
  try {
    assert.equal(await gateway.json("GET", "/dashboard/browser/tabs"), {
      running: false,
      tabs: [],
    });
    const response = await gateway.request("GET", "/dashboard/browser/screenshot");
    assert.is(response.status, 409);
    assert.is(((await response.json()) as any).error.code, "browser_not_running");
  } finally {
    await gateway.stop();
  }
});

test.run();
