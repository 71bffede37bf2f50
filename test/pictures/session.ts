/** Commands in a shell, run one after another, with what each printed and how long it took. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { packageDir, type SpawnedGateway, spawnGateway } from "../support/gateway.ts";
import { porticoProgram } from "../support/runner/bundle.ts";
import { temporaryDir } from "../support/temporary.ts";

export interface Step {
  /** As a person types it. */
  command: string;
  output: string;
  ms: number;
}

const ask = (content: string) => `curl -s $PORTICO_URL/v1/chat/completions \\
    -H "Authorization: Bearer $PORTICO_TOKEN" -H "Content-Type: application/json" \\
    -d '{"model": "echo", "messages": [{"role": "user", "content": "${content}"}]}' \\
    | jq .choices[0].message.content`;

const EDIT = `cat > $PORTICO_HOME/hooks/hello/handler.ts <<'END'
export default (event) => {
  if (event.context.content === "ping") return { reply: "pong" };
};
END`;

export async function recordSession(): Promise<Step[]> {
  const gateway = await spawnGateway();
  const shell = await shellFor(gateway);
  try {
    return [
      await shell(ask("Hello, Portico")),
      await shell("portico hooks new hello --event message:received"),
      await shell(EDIT),
      await shell("portico hooks info hello | head -6"),
      await shell(ask("ping")),
      await shell("portico requests"),
    ];
  } finally {
    await gateway.stop();
  }
}

type Shell = (command: string) => Promise<Step>;

/** A shell that knows `portico`, in the gateway's home. */
async function shellFor({ home, url, token }: SpawnedGateway): Promise<Shell> {
  const bin = temporaryDir("portico-pictures-");
  mkdirSync(bin, { recursive: true });
  const program = [process.execPath, ...porticoProgram()].map((word) => `'${word}'`).join(" ");
  writeFileSync(join(bin, "portico"), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env["PATH"]}`,
    PORTICO_HOME: home,
    PORTICO_URL: url,
    PORTICO_TOKEN: token,
    COLUMNS: "110",
  };
  return async (command) => {
    const begin = performance.now();
    const { stdout } = await promisify(execFile)("sh", ["-c", command], { env, cwd: packageDir });
    const output = stdout.replaceAll(home, "~/.portico").replaceAll(token, "…").replaceAll(url, "");
    return { command, output: output.trimEnd(), ms: performance.now() - begin };
  };
}
