/** The documentation: every page is served, has content, and is in the search index. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import MiniSearch from "minisearch";
import { type InProcessGateway, packageDir, startGateway } from "../support/gateway.ts";
import { hrefOf } from "../../.ci/docs/links.ts";
import { indexOptions, searchOptions } from "../../plugins/docs/site/search-options.ts";
import { suite } from "../support/suite.ts";

const test = suite<{ gateway: InProcessGateway }>("documentation");
test.before(async (context) => {
  assert.ok(
    existsSync(join(packageDir, ".build/docs/index.html")),
    "npm run build makes the pages",
  );
  context.gateway = await startGateway();
});
test.after(({ gateway }) => gateway.stop());

test("the first page leads to every other, without a token and under a strict policy", async ({
  gateway,
}) => {
  const index = await gateway.request("GET", "/docs", undefined, { token: null });
  assert.is(index.status, 200);
  assert.match(index.headers.get("content-security-policy") ?? "", "script-src 'self'");
  const html = await index.text();
  const links = [...html.matchAll(/href="(\/docs[^"#]*)"/g)].map(([, link = ""]) => link);
  assert.ok(links.length > 40);
  for (const link of new Set(links)) {
    const page = await gateway.request("GET", link, undefined, { token: null });
    assert.is(page.status, 200, link);
  }
});

test("links to sources of the API lead to their pages", async ({ gateway }) => {
  const hooks = await (await gateway.request("GET", "/docs/hooks")).text();
  assert.match(hooks, 'href="/docs/api/portico"');
  const plugins = await (await gateway.request("GET", "/docs/write-plugins")).text();
  assert.match(plugins, 'href="/docs/api/portico-provider"');
});

test("a link to an address of the site ends the build, since GitHub has no such page", () => {
  const page = { source: "plugins/docs/guides/start.md" };
  const urls = new Map([["kernel/index.ts", "api/portico"]]);
  assert.is(hrefOf("../../../kernel/index.ts", page, urls), "/docs/api/portico");
  assert.throws(() => hrefOf("/docs/api/portico", page, urls), /start\.md links to \/docs\/api/);
});

test("pages hold no inline script or style", async ({ gateway }) => {
  const html = await (await gateway.request("GET", "/docs/reference/configuration")).text();
  assert.not.match(html, /<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/i);
});

test("an unchanged page is 304, and an unknown page is 404", async ({ gateway }) => {
  const page = await gateway.request("GET", "/docs/start");
  const headers = { "if-none-match": page.headers.get("etag") ?? "" };
  const again = await gateway.request("GET", "/docs/start", undefined, { headers });
  assert.is(again.status, 304);
  for (const path of ["/docs/nowhere", "/docs/../package.json", "/docs/%2e%2e/secret"])
    assert.is((await gateway.request("GET", path)).status, 404, path);
});

test("search finds the tasks that people look for, by their words, among the first three", async ({
  gateway,
}) => {
  const text = await (await gateway.request("GET", "/docs/search.json")).text();
  const index = MiniSearch.loadJSON(text, indexOptions);
  const expected: Record<string, string> = {
    redact: "redact-answers",
    PII: "redact-answers",
    "personal data": "redact-answers",
    mask: "redact-answers",
    guardrails: "redact-answers",
    nginx: "nginx-workers-postgresql",
    proxy: "nginx-workers-postgresql",
    "reverse proxy": "nginx-workers-postgresql",
    https: "nginx-workers-postgresql",
    "load balancer": "nginx-workers-postgresql",
    upgrade: "upgrade",
    update: "upgrade",
    migrate: "postgresql",
    stripe: "stripe-webhook",
    litellm: "why-portico",
    "back up": "back-up",
    backup: "back-up",
    restore: "back-up",
    "add a provider": "add-a-provider",
    "api key": "add-a-provider",
    vllm: "add-a-provider",
    openrouter: "add-a-provider",
    budget: "fallback-and-budgets",
    failover: "fallback-and-budgets",
    "rate limit": "fallback-and-budgets",
    quota: "fallback-and-budgets",
    "virtual keys": "fallback-and-budgets",
    github: "github-webhook",
    hmac: "github-webhook",
    "claude code": "clients",
    cursor: "clients",
    docker: "deploy",
    kubernetes: "deploy",
    alternatives: "why-portico",
    upstream_auth: "troubleshooting",
    postgresql: "postgresql",
    slack: "slack",
    "who changed what": "plugins/audit",
  };
  for (const [query, page] of Object.entries(expected)) {
    const hits = index.search(query, searchOptions);
    const urls = hits.slice(0, 3).map(({ url }) => String(url));
    assert.ok(
      urls.some((url) => url.startsWith(`/docs/${page}`)),
      `${query}: ${urls}`,
    );
  }
});

test("the API reference documents everything that authors import", async ({ gateway }) => {
  const page = async (name: string) => (await gateway.request("GET", `/docs/api/${name}`)).text();
  const { exports } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8"));
  const faces = Object.keys(exports).filter((path) => path !== "./package.json");
  for (const face of faces)
    assert.match(await page(face.replace(/^\.\/?/, "portico-").replace(/-$/, "")), "<h1");
  const portico = await page("portico");
  for (const name of Object.keys(await import("portico")))
    assert.match(portico, `<h2 id="${name.toLowerCase()}">`);
  assert.match(await page("portico-provider"), "interface WireProvider");
});

test("the reference names keys, events and commands", async ({ gateway }) => {
  const page = async (name: string) =>
    (await gateway.request("GET", `/docs/reference/${name}`)).text();
  assert.match(await page("configuration"), "gateway.shutdownTimeoutMs");
  assert.match(await page("events"), "message:streaming");
  assert.match(await page("commands"), "portico hooks");
  const errors = await page("errors");
  assert.match(errors, "model_not_found");
  assert.match(errors, "There is no key");
});

test.run();
