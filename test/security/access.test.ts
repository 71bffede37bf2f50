/** Every cell of the tables in access.ts, tried over HTTP with real credentials. */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { ChatRequest } from "portico/provider";
import * as assert from "uvu/assert";
import { call, type ScriptedGateway, scriptedGateway } from "../plugins/agent/scripted.ts";
import { removeFences } from "../support/fence.ts";
import { makeHome } from "../support/gateway.ts";
import {
  askAsKey,
  callWebhook,
  clientKey,
  secretOfKey,
  secretOfWebhook,
  webhookKey,
} from "../support/principals.ts";
import { suite } from "../support/suite.ts";
import { until } from "../support/until.ts";
import {
  type Column,
  type Credential,
  CREDENTIALS,
  PRINCIPALS,
  REACH,
  ROUTES,
  SESSIONS,
  TOOLS,
} from "./access.ts";
import { accessOnPage, renderAccess } from "./render.ts";

const test = suite("who may use what");
const home = makeHome();
let g: ScriptedGateway;
let polls = 0;
const site = createServer((_req, res) => res.end(JSON.stringify([{ id: "1", title: "news" }])));
const address = () => `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;

const MCP_SERVER = `
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "mind", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "say", inputSchema: { type: "object" } }] }),
};
process.stdin.on("data", (bytes) => {
  for (const line of String(bytes).split("\\n").filter(Boolean)) {
    const { id, method, params } = JSON.parse(line);
    const answer = answers[method];
    if (answer) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answer(params) }));
  }
});
`;

const WIDE = { tools: ["cron", "polls", "lookup", "mind_*"] };

test.before(async () => {
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  g = await scriptedGateway({
    home,
    config: {
      // each request comes from an address of its own: refused credentials are counted by address
      gateway: {
        trustedProxies: ["127.0.0.1"],
        keys: { ...clientKey("app"), ...clientKey("wide", WIDE), ...clientKey("other") },
      },
      agents: { defaults: { web: { allowPrivateNetwork: true } } },
      // These requests must not start anything.
      browser: { executablePath: "/nowhere/browser" },
      mcp: { servers: { mind: { command: process.execPath, args: [join(home, "mind.mjs")] } } },
      webhooks: {
        token: "the-webhooks-token",
        keys: {
          ...webhookKey("ci", { sessions: ["webhook:ci:*", "builds"] }),
          ...webhookKey("wide", WIDE),
        },
        mappings: {
          alert: { message: "{body.text}", session: "alerts", wait: true, delivery: "announce" },
          wide2: { message: "{body.text}", wait: true, ...WIDE },
        },
      },
    },
    files: {
      "mind.mjs": MCP_SERVER,
      "workspace/AGENTS.md": "shared AGENTS",
      "workspace/SOUL.md": "shared SOUL",
      "workspace/USER.md": "private USER",
      "workspace/TOOLS.md": "private TOOLS",
      "workspace/MEMORY.md": "private MEMORY",
    },
  });
  await until("the MCP server", async () => {
    const { servers } = await g.json("GET", "/mcp/servers");
    return servers[0].state === "connected";
  });
});
test.after(async () => {
  await g.stop();
  site.close();
});

/** Begins a turn with the credential that the column has, and waits for its end. */
const START: Record<Column, (wide: boolean) => Promise<unknown>> = {
  owner: () => g.json("POST", "/agent", { message: "go", wait: true, session: "main" }),
  key: (wide) => askAsKey(g, wide ? "wide" : "app", "go", "own"),
  "webhook key": (wide) => {
    const name = wide ? "wide" : "ci";
    const session = `webhook:${name}:own`;
    return callWebhook(g, "agent", secretOfWebhook(name), { message: "go", wait: true, session });
  },
  mapping: (wide) =>
    callWebhook(g, wide ? "wide2" : "alert", "the-webhooks-token", { text: "payload" }),
  poll: async (wide) => {
    const session = `feed${++polls}`;
    const { id } = await g.json("POST", "/polls", {
      name: wide ? "wide" : "watched",
      every: "24h",
      fireOnFirst: true,
      source: { kind: "json", url: address(), key: "id" },
      payload: { kind: "agentTurn", message: "go", session },
      ...(wide ? WIDE : {}),
    });
    await g.json("POST", `/polls/${id}/run`);
    await until("the poll's turn", async () => {
      const { turns } = await g.json("GET", `/turns?session=${session}`);
      return turns[0]?.state === "done";
    });
    await g.json("DELETE", `/polls/${id}`);
  },
  // no credential leads to such a turn
  outside: () =>
    g.gateway
      .use("agent")
      .startTurn({ message: "go", source: "test", principal: "outside" }, { wait: true }),
};

/** The first request of a turn. */
async function promptOf(column: Column, wide = false): Promise<ChatRequest> {
  let first: ChatRequest | undefined;
  g.script((request) => {
    first ??= request;
    return "done";
  });
  await START[column](wide);
  assert.ok(first, `${column}: no turn began`);
  return first;
}

/** The outcome of a tool call in a turn. */
async function resultOf(column: Column, name: string, args: object): Promise<string> {
  let result = "";
  let isAsked = false;
  g.script((request) => {
    if (request.messages.at(-1)?.role === "tool")
      result = removeFences(String(request.messages.at(-1)?.content));
    if (isAsked) return "done";
    isAsked = true;
    return call(name, args);
  });
  await START[column](false);
  return result;
}

/** The row of a tool: those that others bring share one. */
function toolRow(name: string): string {
  if (name.startsWith("mind_")) return "tools of MCP servers";
  return ["lookup", "hang", "explode"].includes(name) ? "tools of plugins" : name;
}

const toolsIn = ({ tools }: ChatRequest) =>
  new Set((tools ?? []).map((tool) => toolRow(String(tool.function?.name))));

test("every tool has a row", async () => {
  const { tools } = await g.json("GET", "/tools");
  const rows = tools.map(({ name }: { name: string }) => toolRow(name));
  assert.equal([...new Set(rows)].sort(), Object.keys(TOOLS).sort(), "see test/security/access.ts");
});

for (const column of PRINCIPALS)
  test(`tools of: ${column}`, async () => {
    const offered = toolsIn(await promptOf(column));
    const widened = toolsIn(await promptOf(column, true));
    for (const [tool, row] of Object.entries(TOOLS)) {
      const cell = row[column];
      assert.is(offered.has(tool), cell !== "–" && cell !== "by name", tool);
      if (cell === "by name") assert.ok(widened.has(tool), `${tool}, widened`);
    }
  });

for (const column of PRINCIPALS)
  test(`visible to: ${column}`, async () => {
    await resultOf(column, "memory", { action: "append", text: `own note of ${column}` });
    const system = String((await promptOf(column)).messages[0]?.content);
    const isTold = (text: string, row: string) => {
      const cell = REACH[row]?.[column] ?? "";
      assert.is(system.includes(text), cell.startsWith("in its prompt"), `${row}: ${text}`);
      if (cell.includes("as data")) assert.not.match(unmarked(system), text);
    };
    for (const file of ["AGENTS", "SOUL"]) isTold(`shared ${file}`, "`AGENTS.md`, `SOUL.md`");
    for (const file of ["USER", "TOOLS", "MEMORY"])
      isTold(`private ${file}`, "`USER.md`, `TOOLS.md`, `MEMORY.md` of the workspace");
    if (column !== "owner") isTold(`own note of ${column}`, "`MEMORY.md` of its own");
    const files = TOOLS["files"]?.[column];
    const read = await resultOf(column, "files", { action: "read", path: "USER.md" });
    assert.is(read.includes("private USER"), files === "workspace", "files");
    const page = await resultOf(column, "web", { url: address() });
    assert.is(page.includes("news"), REACH["private addresses"]?.[column] !== "–", "web");
  });

const unmarked = (text: string) => text.replace(/<<<UNTRUSTED [\s\S]*?<<<END UNTRUSTED/g, "");

/** The sessions that stand for each row: the turn's own, another under its name, one that its entry names, the rest. */
const EXAMPLES: Record<Column, { current: string; named: string[]; entry: string[] }> = {
  owner: { current: "main", named: [], entry: [] },
  key: { current: "key:app:own", named: ["key:app:second"], entry: [] },
  "webhook key": {
    current: "webhook:ci:own",
    named: ["webhook:ci:second"],
    entry: ["builds"],
  },
  mapping: { current: "alerts", named: ["webhook:alert:second"], entry: ["alerts"] },
  poll: { current: "", named: [], entry: [] },
  outside: { current: "", named: [], entry: [] },
};
const OTHERS = ["main", "private", "key:other:chat1", "webhook:wide:own", "key:app2:x", "alerts2"];

test("every session is visible only to those who may see it", async () => {
  g.script(() => "done");
  const named = PRINCIPALS.flatMap((column) => [
    ...EXAMPLES[column].named,
    ...EXAMPLES[column].entry,
  ]);
  for (const session of [...OTHERS, ...named])
    await g.json("POST", "/agent", { message: "words", wait: true, session });
  const rows = Object.values(SESSIONS);
  for (const column of PRINCIPALS) {
    const { current, named: own, entry } = EXAMPLES[column];
    const others = [...OTHERS, ...named].filter(
      (session) => ![current, ...own, ...entry].includes(session),
    );
    const groups = [current === "" ? [] : [current], own, entry, others];
    for (const [index, sessions] of groups.entries())
      for (const session of sessions) {
        const history = await resultOf(column, "sessions", { action: "history", session });
        assert.is(
          history.startsWith("Error:"),
          rows[index]?.[column] !== "yes",
          `${column}: ${session}`,
        );
      }
  }
});

test("a turn's result goes to the main session if the row says so", async () => {
  const announced = async (): Promise<{ role: string; content: string }[]> => {
    const { messages } = await g.json("GET", "/sessions/main");
    return messages.filter(({ content }: { content: unknown }) =>
      String(content).includes("the result"),
    );
  };
  g.script(() => "the result");
  const before = (await announced()).length;
  await START.mapping(false);
  const [posted] = (await announced()).slice(before);
  assert.is(posted?.role, "user");
  assert.not.match(unmarked(posted?.content ?? ""), "\nthe result\n");
  const token = secretOfWebhook("ci");
  const body = { message: "go", delivery: "announce", wait: true };
  assert.is((await callWebhook(g, "agent", token, body)).status, 403);
  await g.json("POST", "/agent", { ...body, session: "elsewhere" });
  assert.is((await announced()).at(-1)?.role, "assistant");
});

const TOKENS: Record<Credential, () => string | null> = {
  "gateway token": () => g.token,
  "client key": () => secretOfKey("app"),
  "webhooks.token": () => "the-webhooks-token",
  "webhook key": () => secretOfWebhook("wide"),
  none: () => null,
};
let requests = 0;

/** True where the credential was taken, whatever became of the request. */
async function isLetIn(route: string, credential: Credential): Promise<boolean> {
  const [method = "", place = ""] = route.split(" ");
  const [server, path] = place.startsWith("/") ? [undefined, place] : splitServer(place);
  const leave = new AbortController();
  const isBodyless = method === "GET" || method === "DELETE";
  const response = await g.request(
    method === "ANY" ? "POST" : method,
    path.replace(/:\w+|\*/g, "none"),
    // nothing is to happen: a handler that reads it refuses it
    isBodyless ? undefined : "{",
    {
      token: TOKENS[credential](),
      server,
      signal: leave.signal,
      headers: { "x-forwarded-for": `10.0.${requests >> 8}.${requests++ & 255}` },
    },
  );
  leave.abort();
  return response.status !== 401 && response.status !== 403;
}

function splitServer(place: string): [string, string] {
  const colon = place.indexOf(":");
  return [place.slice(0, colon), place.slice(colon + 1)];
}

test("every route has a row", () => {
  const mounted = g.gateway
    .use("gateway")
    .routes()
    .flatMap(({ server, routes }) =>
      routes.map(({ method, path }) => {
        const place = server === "gateway" ? path : `${server}:${path}`;
        return `${method || "ANY"} ${place}`;
      }),
    );
  const rows = ROUTES.flatMap(({ routes }) => routes);
  assert.equal([...new Set(mounted)].sort(), [...rows].sort(), "see test/security/access.ts");
});

for (const { about, allowed, routes } of ROUTES)
  test(`routes: ${about}`, async () => {
    for (const route of routes)
      for (const credential of CREDENTIALS)
        assert.is(
          await isLetIn(route, credential),
          allowed.includes(credential),
          `${route} with ${credential}`,
        );
  });

test("SECURITY.md shows these tables", () => {
  assert.is(accessOnPage(), renderAccess(), "run npx tsx test/security/render.ts");
});

test.run();
