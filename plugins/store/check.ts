/** Checks whether the store is sound. */
import { existsSync } from "node:fs";
import type { HealthCheck } from "portico/command-line";
import { inspect } from "./inspect.ts";
import { RESTORE } from "./inspection/inspection.ts";
import { parseFilePath, isPostgres, resolveUrl } from "./open.ts";

const check: HealthCheck = async ({ config, gateway, paths }) => {
  if (gateway === undefined) return checkWithoutGateway(resolveUrl(config, paths.state));
  const { ok, problem } = await gateway.request<{ ok: boolean; problem?: string }>("GET", "/store");
  if (!ok)
    return [
      {
        level: "error",
        message: problem ?? "the store does not work",
        remedy: "Run `portico store check` for details.",
      },
    ];
  const { problems } = await gateway.request<{ problems: string[] }>(
    "POST",
    "/store/check",
    undefined,
    {
      timeoutMs: 600_000,
    },
  );
  return toFindings(problems, RESTORE);
};
export default check;

async function checkWithoutGateway(url: string): ReturnType<HealthCheck> {
  if (!isPostgres(url) && !existsSync(parseFilePath(url)))
    return [{ level: "ok", message: `${parseFilePath(url)} will be created at the first start` }];
  const { problems, remedy = RESTORE, schemaVersion } = await inspect(url);
  if (isPostgres(url) && schemaVersion === 0)
    return [{ level: "ok", message: "the first start creates its tables" }];
  return toFindings(problems, remedy);
}

function toFindings(problems: readonly string[], remedy: string): Awaited<ReturnType<HealthCheck>> {
  if (problems.length === 0) return [{ level: "ok", message: "sound" }];
  return problems.map((message) => ({ level: "error", message, remedy }));
}
