/** Users' hooks, measured from outside: the cost of a call in a chat, and the time from a save until it is live. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodeRequest, exchange } from "../../chat/chat-load.ts";
import { ask, type BuiltGateway } from "../../harness/built.ts";
import { load } from "../../harness/load.ts";
import { cpuMicros, median } from "../../harness/measure.ts";
import type { GatewayArea, Reading } from "../area.ts";

const CHAT = { model: "echo", messages: [{ role: "user", content: "hello" }] };
const SAVES = 5;
const config = () => ({ channels: { echo: { provider: "echo" } } });
const files = {
  "hooks/a/HOOK.md": "---\nevents: [message:received]\n---\n\n# A hook\n",
  "hooks/a/handler.ts": handler(0),
  "hooks/a/word.ts": 'export const word = "version";',
};

function handler(version: number): string {
  const ballast = "const ballast = Array.from({ length: 200 }, (_, i) => i);";
  return `import { word } from "./word.ts";\n${ballast}\nexport default () => ({ reply: \`\${word} ${version} \${ballast.length}\` });\n`;
}

async function calls(gateway: BuiltGateway): Promise<Reading> {
  const request = encodeRequest(gateway, "POST", "/v1/chat/completions", CHAT);
  const { perSecond, micros } = await load(gateway, { connections: 16, count: 2000 }, (socket) =>
    exchange(socket, request),
  );
  return { "requests/s": perSecond, "CPU µs/request": micros };
}

/** Saves a hook as most editors do, with a rename, and measures the time until it is live. */
function beginSaves(gateway: BuiltGateway): () => Promise<Reading> {
  let version = 0;
  const file = join(gateway.home, "hooks/a/handler.ts");
  async function save(): Promise<number> {
    version++;
    const began = performance.now();
    writeFileSync(`${file}.tmp`, handler(version));
    renameSync(`${file}.tmp`, file);
    while (
      !JSON.stringify(await ask(gateway, "POST", "/v1/chat/completions", CHAT)).includes(
        `version ${version} `,
      )
    )
      await new Promise((resolve) => setTimeout(resolve, 1));
    const ms = performance.now() - began;
    await new Promise((resolve) => setTimeout(resolve, 200 + Math.random() * 40));
    return ms;
  }
  return async () => {
    const times: number[] = [];
    const cpu = cpuMicros(gateway.process.pid!);
    for (let n = 0; n < SAVES; n++) times.push(await save());
    const cpuTime = cpuMicros(gateway.process.pid!) - cpu;
    return {
      "save to live, ms": median(times),
      "CPU ms/save, asking included": cpuTime / 1000 / SAVES,
    };
  };
}

export const hookAreas: readonly GatewayArea[] = [
  {
    name: "hooks",
    what: "chats that a hook replies to",
    config,
    files,
    begin: (gateway) => () => calls(gateway),
  },
  { name: "saves", what: "saves of a hook", config, files, begin: beginSaves },
];
