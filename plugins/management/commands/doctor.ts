/**
 * `portico doctor`. Not made from a route: it works without a gateway, and examines more where one runs.
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
import { checkHome, checkPort, checkRights } from "./machine.ts";

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
    "Works without a running gateway, but checks more if one is running. Exits with status 1 if something is wrong.",
  examples: ["portico doctor", "portico doctor --json"],
  async run(io) {
    io.progress("checking …");
    const findings = await examine(io);
    const wrong = findings.filter(({ level }) => level === "error");
    io.show({ ok: wrong.length === 0, findings }, () => linesOf(findings));
    const [first] = wrong;
    if (first)
      throw new Error(
        `${wrong.length} ${wrong.length === 1 ? "check" : "checks"} failed. The first is ${first.about}: ${first.message}`,
      );
  },
};
export default doctor;

async function examine(io: CommandIO): Promise<NamedFinding[]> {
  const home = io.home();
  const { paths } = home;
  const status = await statusOf(io.gateway);
  const config = await configOf(home);
  const gateway = status && io.gateway;
  const { isLoadable } = config;
  const look = { config: config.value, paths, env: io.env, gateway };
  const portFindings = async () => {
    if (status) return runs(status);
    return isLoadable ? checkPort(config.value) : [];
  };
  const remedy = `Edit ${paths.config}, then run \`portico config validate\`.`;
  return [
    ...named("home", checkHome(paths)),
    ...named("rights", checkRights(paths)),
    ...named(
      "configuration",
      orFine(
        paths.config,
        config.problems.map((message) => ({ level: "error", message, remedy })),
      ),
    ),
    ...named("port", await portFindings()),
    ...named("workers", status?.workers ? runAll(status.workers) : []),
    ...named("plugins", status ? statesOf(status, "plugins") : await loadable(io)),
    ...named("hooks", status ? statesOf(status, "hooks") : await hooksOnDisk(io)),
    ...noticesBeside(config.problems, status).map(({ from, text }) => ({
      about: from,
      level: "warning" as const,
      message: text,
    })),
    // The checks rely on a configuration that can be loaded.
    ...(isLoadable ? await askPlugins(io, look) : []),
  ];
}

/** What the configuration says, and what is wrong with it. */
async function configOf(
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
    const found =
      isPorticoError(error) && (error.details?.["problems"] as ConfigProblem[] | undefined);
    const problems = found ? found.map(problemText) : [(error as Error).message];
    return { value, problems, isLoadable };
  }
}

/** Leaves out the notices of a gateway that repeat a problem of the file itself. */
function noticesBeside(problems: readonly string[], status: Status | undefined) {
  const isKnown = (text: string) => problems.some((problem) => text.includes(problem));
  return (status?.notices ?? []).filter(({ text }) => !isKnown(text));
}

async function statusOf(gateway: GatewayClient): Promise<Status | undefined> {
  return gateway
    .request<Status>("GET", "/kernel/status", undefined, { timeoutMs: 5_000 })
    .catch(() => undefined);
}

function orFine(message: string, findings: readonly Finding[]): readonly Finding[] {
  return findings.length > 0 ? findings : [{ level: "ok", message }];
}

function named(about: string, findings: readonly Finding[]): NamedFinding[] {
  return findings.map((finding) => ({ about, ...finding }));
}

function runs({ url, servers }: Status): Finding[] {
  return [
    {
      level: "ok",
      message: `a gateway is running: ${[url, ...Object.values(servers)].join(", ")}`,
    },
  ];
}

function runAll({ count, running }: NonNullable<Status["workers"]>): Finding[] {
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

const FINE = new Set(["active", "disabled", "shadowed"]);

function statesOf(status: Status, kind: "plugins" | "hooks"): readonly Finding[] {
  const bad = status[kind].filter(({ state }) => !FINE.has(state));
  const findings = bad.map(({ name, state, error }): Finding => {
    return {
      level: state === "ineligible" || state === "unapproved" ? "warning" : "error",
      message: `${name} is ${state}${error ? `: ${error}` : ""}`,
      remedy: `Run \`portico ${kind} info ${name}\` for details.`,
    };
  });
  const isNoticed = status.notices.some(({ from }) => from === kind);
  return isNoticed ? findings : orFine(`${status[kind].length}, all of them work`, findings);
}

async function loadable(io: CommandIO): Promise<readonly Finding[]> {
  const broken = (await io.home().broken()).map(({ name, entry, reason }): Finding => {
    return { level: "error", message: `${name}: ${reason}`, remedy: `Correct ${entry}.` };
  });
  return orFine("all load", broken);
}

async function hooksOnDisk(io: CommandIO): Promise<readonly Finding[]> {
  const home = io.home();
  const events = new Map(Object.entries(await home.events()));
  const hooks = await (await home.hooks(home.paths.workspace)).byName(undefined);
  const reports = await Promise.all(hooks.map((hook) => checkHook(hook, events)));
  const broken = reports
    .filter((one) => !one.ok)
    .map(({ name, problems }): Finding => {
      return {
        level: "error",
        message: `${name}: ${problems[0]?.message}`,
        remedy: `Run \`portico hooks check ${name}\` for details.`,
      };
    });
  return orFine(`${reports.length}, all of them load`, broken);
}

const LIMIT_MS = 120_000;

/** What plugins find, side by side. */
async function askPlugins(io: CommandIO, context: CheckContext): Promise<NamedFinding[]> {
  const checks = (await io.home().definitions()).flatMap((one) => Object.entries(one.checks ?? {}));
  const findings = [...new Map(checks)].map(async ([about, load]) =>
    named(about, await ask((await load()).default, context)),
  );
  return (await Promise.all(findings)).flat();
}

async function ask(check: HealthCheck, context: CheckContext): Promise<readonly Finding[]> {
  const late = new Promise<Finding[]>((resolve) => {
    const finding = { level: "error" as const, message: "the check did not finish in time" };
    setTimeout(() => resolve([finding]), LIMIT_MS).unref();
  });
  const findings = check(context).catch((error: Error): Finding[] => [
    { level: "error", message: error.message },
  ]);
  return Promise.race([findings, late]);
}

/** A line for each, and below it how to repair it. */
function linesOf(findings: readonly NamedFinding[]): string[] {
  const width = Math.max(0, ...findings.map(({ about }) => about.length));
  const words = { ok: "ok", warning: "warn", error: "wrong" };
  return findings.flatMap(({ about, level, message, remedy }) => [
    `${words[level].padEnd(5)}  ${about.padEnd(width)}  ${message}`,
    ...(remedy && level !== "ok" ? [`${" ".repeat(width + 9)}→ ${remedy}`] : []),
  ]);
}
