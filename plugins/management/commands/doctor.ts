/**
 * `portico doctor`. It is not derived from a route, since it works without a gateway; if one is running, it checks more.
 */
import { checkHook } from "../hooks/check.ts";
import { type ConfigProblem, type HomeOnDisk, isPorticoError, problemText } from "portico";
import type {
  CheckContext,
  Command,
  CommandIO,
  Finding,
  GatewayClient,
  HealthCheck,
} from "portico/command-line";
import { checkHome, checkPort, checkPermissions } from "./machine.ts";

interface NamedFinding extends Finding {
  about: string;
}

interface Status {
  workers?: { count: number; running: readonly unknown[] };
  url: string;
  servers: Record<string, string>;
  plugins: { name: string; state: string; error?: string }[];
  hooks: { name: string; state: string; error?: string }[];
  notices: { from: string; text: string }[];
}

const doctor: Command = {
  name: "doctor",
  summary: "Check the installation and suggest fixes",
  description:
    "Works without a running gateway, but makes more checks if a gateway is running. Exits with status 1 if something is wrong.",
  examples: ["portico doctor", "portico doctor --json"],
  async run(io) {
    io.progress("checking …");
    const findings = await runAllChecks(io);
    const errors = findings.filter(({ level }) => level === "error");
    io.show({ ok: errors.length === 0, findings }, () => formatFindings(findings));
    const [first] = errors;
    if (first)
      throw new Error(
        `${errors.length} ${errors.length === 1 ? "check" : "checks"} failed. The first is ${first.about}: ${first.message}`,
      );
  },
};
export default doctor;

async function runAllChecks(io: CommandIO): Promise<NamedFinding[]> {
  const home = io.home();
  const { paths } = home;
  const status = await fetchStatus(io.gateway);
  const config = await loadConfig(home);
  const gateway = status && io.gateway;
  const { isLoadable } = config;
  const checkContext = { config: config.value, paths, env: io.env, gateway };
  const portFindings = async () => {
    if (status) return gatewayFinding(status);
    return isLoadable ? checkPort(config.value) : [];
  };
  const remedy = `Edit ${paths.config}, then run \`portico config validate\`.`;
  return [
    ...nameFindings("home", checkHome(paths)),
    ...nameFindings("rights", checkPermissions(paths)),
    ...nameFindings(
      "configuration",
      orOk(
        paths.config,
        config.problems.map((message) => ({ level: "error", message, remedy })),
      ),
    ),
    ...nameFindings("port", await portFindings()),
    ...nameFindings("workers", status?.workers ? workersFinding(status.workers) : []),
    ...nameFindings(
      "plugins",
      status ? checkStates(status, "plugins") : await checkPluginsOnDisk(io),
    ),
    ...nameFindings("hooks", status ? checkStates(status, "hooks") : await checkHooksOnDisk(io)),
    ...otherNotices(config.problems, status).map(({ from, text }) => ({
      about: from,
      level: "warning" as const,
      message: text,
    })),
    // The checks rely on a configuration that can be loaded.
    ...(isLoadable ? await runPluginChecks(io, checkContext) : []),
  ];
}

/** Loads the configuration. Returns its value with its problems. */
async function loadConfig(
  home: HomeOnDisk,
): Promise<{ value: CheckContext["config"]; problems: string[]; isLoadable: boolean }> {
  let value: CheckContext["config"] = {};
  let isLoadable = false;
  try {
    const config = await home.config();
    value = config.current;
    isLoadable = config.isLoadable();
    await config.check();
    return { value, problems: [], isLoadable };
  } catch (error) {
    const problemList =
      isPorticoError(error) && (error.details?.["problems"] as ConfigProblem[] | undefined);
    const problems = problemList ? problemList.map(problemText) : [(error as Error).message];
    return { value, problems, isLoadable };
  }
}

/** Returns the gateway's notices without those that repeat a problem of the file itself. */
function otherNotices(problems: readonly string[], status: Status | undefined) {
  const isRepeated = (text: string) => problems.some((problem) => text.includes(problem));
  return (status?.notices ?? []).filter(({ text }) => !isRepeated(text));
}

async function fetchStatus(gateway: GatewayClient): Promise<Status | undefined> {
  return gateway
    .request<Status>("GET", "/kernel/status", undefined, { timeoutMs: 5_000 })
    .catch(() => undefined);
}

function orOk(message: string, findings: readonly Finding[]): readonly Finding[] {
  return findings.length > 0 ? findings : [{ level: "ok", message }];
}

function nameFindings(about: string, findings: readonly Finding[]): NamedFinding[] {
  return findings.map((finding) => ({ about, ...finding }));
}

function gatewayFinding({ url, servers }: Status): Finding[] {
  return [
    {
      level: "ok",
      message: `a gateway is running: ${[url, ...Object.values(servers)].join(", ")}`,
    },
  ];
}

function workersFinding({ count, running }: NonNullable<Status["workers"]>): Finding[] {
  const message = `${running.length} of ${count} workers are running`;
  if (running.length === count) return [{ level: "ok", message }];
  return [
    {
      level: "warning",
      message,
      remedy: "The gateway replaces a worker that ended. Its log gives the reason.",
    },
  ];
}

const OK_STATES = new Set(["active", "disabled", "shadowed"]);

function checkStates(status: Status, kind: "plugins" | "hooks"): readonly Finding[] {
  const failing = status[kind].filter(({ state }) => !OK_STATES.has(state));
  const findings = failing.map(({ name, state, error }): Finding => {
    return {
      level: state === "ineligible" || state === "unapproved" ? "warning" : "error",
      message: `${name} is ${state}${error ? `: ${error}` : ""}`,
      remedy: `Run \`portico ${kind} info ${name}\` for details.`,
    };
  });
  const isNoticed = status.notices.some(({ from }) => from === kind);
  return isNoticed ? findings : orOk(`all ${status[kind].length} work`, findings);
}

async function checkPluginsOnDisk(io: CommandIO): Promise<readonly Finding[]> {
  const broken = (await io.home().broken()).map(({ name, entry, reason }): Finding => {
    return { level: "error", message: `${name}: ${reason}`, remedy: `Correct ${entry}.` };
  });
  return orOk("all load", broken);
}

async function checkHooksOnDisk(io: CommandIO): Promise<readonly Finding[]> {
  const home = io.home();
  const events = new Map(Object.entries(await home.events()));
  const hooks = await (await home.hooks(home.paths.workspace)).byName(undefined);
  const reports = await Promise.all(hooks.map((hook) => checkHook(hook, events)));
  const broken = reports
    .filter((report) => !report.ok)
    .map(({ name, problems }): Finding => {
      return {
        level: "error",
        message: `${name}: ${problems[0]?.message}`,
        remedy: `Run \`portico hooks check ${name}\` for details.`,
      };
    });
  return orOk(`all ${reports.length} load`, broken);
}

const CHECK_TIMEOUT_MS = 120_000;

/** Runs the checks of all plugins in parallel. */
async function runPluginChecks(io: CommandIO, context: CheckContext): Promise<NamedFinding[]> {
  const checks = (await io.home().definitions()).flatMap((definition) =>
    Object.entries(definition.checks ?? {}),
  );
  const findings = [...new Map(checks)].map(async ([about, load]) =>
    nameFindings(about, await runCheck((await load()).default, context)),
  );
  return (await Promise.all(findings)).flat();
}

async function runCheck(check: HealthCheck, context: CheckContext): Promise<readonly Finding[]> {
  const timeout = new Promise<Finding[]>((resolve) => {
    const finding = { level: "error" as const, message: "the check did not finish in time" };
    setTimeout(() => resolve([finding]), CHECK_TIMEOUT_MS).unref();
  });
  const findings = check(context).catch((error: Error): Finding[] => [
    { level: "error", message: error.message },
  ]);
  return Promise.race([findings, timeout]);
}

/** Formats each finding as a line, with its remedy below it. */
function formatFindings(findings: readonly NamedFinding[]): string[] {
  const width = Math.max(0, ...findings.map(({ about }) => about.length));
  const words = { ok: "ok", warning: "warn", error: "wrong" };
  return findings.flatMap(({ about, level, message, remedy }) => [
    `${words[level].padEnd(5)}  ${about.padEnd(width)}  ${message}`,
    ...(remedy && level !== "ok" ? [`${" ".repeat(width + 9)}→ ${remedy}`] : []),
  ]);
}
