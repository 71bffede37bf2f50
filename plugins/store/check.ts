/** Whether the store is sound. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { HealthCheck } from "portico/command-line";
import { isPostgres } from "./open.ts";

const check: HealthCheck = async ({ config, gateway, paths }) => {
  const { url } = (config["store"] ?? {}) as { url?: string };
  if (gateway === undefined && url !== undefined && isPostgres(url)) {
    // without the address: a password stands in it
    return [{ level: "warning", message: "PostgreSQL is not looked at: no gateway runs", mend: "start a gateway" }];
  }
  if (gateway === undefined) {
    const file = (url ?? join(paths.state, "portico.db")).replace(/^file:/, "");
    const mend = "start a gateway, then: portico store check";
    if (existsSync(file)) return [{ level: "warning", message: `${file} is not looked at: no gateway runs`, mend }];
    return [{ level: "ok", message: `${file} is made at the first start` }];
  }
  const { ok, problem } = await gateway.request<{ ok: boolean; problem?: string }>("GET", "/store");
  if (!ok) return [{ level: "error", message: problem ?? "it is not well", mend: "portico store check" }];
  const { problems } = await gateway.request<{ problems: string[] }>("POST", "/store/check", undefined, {
    timeoutMs: 600_000,
  });
  if (problems.length === 0) return [{ level: "ok", message: "sound" }];
  return problems.map((message) => ({
    level: "error" as const,
    message,
    mend: "copy it away while no gateway runs, and start with the last copy in <home>/state/backups",
  }));
};
export default check;
