/**
 * A PostgreSQL server for the tests: in a temporary directory, on a socket and a free port, run by an unprivileged user.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { copyCluster, makeCluster, PASSWORD, postgresUser as user } from "./cluster.ts";
import { findPostgres } from "./prepare.ts";
import { temporaryDir } from "../temporary.ts";
import { until } from "../until.ts";

export interface TestPostgres {
  readonly port: number;
  /** Returns the URL of a new, empty schema for a store. A `schema` name must include quotes if it needs them. */
  emptyUrl(schema?: string): string;
  /** Returns a TCP address with other parts. Over TCP, the server requires the password. */
  tcpUrl(parts?: { user?: string; password?: string; database?: string }): string;
  sql(text: string): string;
  /** Returns the server's log since its first start. */
  log(): string;
  /** Throws if a deadlock has occurred. `stop` calls this, too. */
  refuseDeadlocks(): void;
  /** Stops the server. `immediate` simulates a crash. */
  stop(how?: "fast" | "immediate"): Promise<void>;
  start(): Promise<void>;
}

/**
 * True if a gateway refused a request because, on a busy machine, other transactions did not end within the store's five
 * seconds. The gateway has accepted nothing then, and a sender sends the request again.
 */
export const isRetryable = (status: number, text: string): boolean =>
  status === 503 && text.includes("other transactions blocked this one for too long");

/** The number of schemas that one `psql` call creates, since a process costs far more than a schema. */
const SCHEMAS_AT_ONCE = 32;
const createSchemas = (first: number) =>
  Array.from({ length: SCHEMAS_AT_ONCE }, (_, n) => `CREATE SCHEMA store_${first + n}`);

export async function startPostgres({ settings = [] as string[] } = {}): Promise<TestPostgres> {
  const bin = findPostgres();
  if (bin === undefined)
    throw new Error("These tests need PostgreSQL: install it and run the tests again.");
  const dir = temporaryDir("portico-pg-");
  if (user.uid !== undefined) chownSync(dir, user.uid, user.gid);
  const data = join(dir, "data");
  const execute = (program: string, args: string[], input = "") =>
    execFileSync(join(bin, program), args, {
      ...user,
      cwd: dir,
      input,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "pipe"],
    });
  const preparedCluster =
    process.env["PORTICO_TEST_BUNDLE"] && join(process.env["PORTICO_TEST_BUNDLE"], "postgres");
  if (preparedCluster && existsSync(preparedCluster)) await copyCluster(preparedCluster, data);
  else await makeCluster(bin, dir);
  const port = await freePort();
  const logFile = join(dir, "log");
  let child: ChildProcess | undefined;
  let schemas = 0;
  process.on("exit", () => child?.kill("SIGQUIT"));

  async function start(): Promise<void> {
    const options = [
      "listen_addresses=127.0.0.1",
      `port=${port}`,
      `unix_socket_directories=${dir}`,
      "max_connections=60",
      // deadlocks are detected early, and lock waits are logged
      "deadlock_timeout=100ms",
      "log_lock_waits=on",
      ...settings,
    ];
    const output = openSync(logFile, "a");
    child = spawn(
      join(bin as string, "postgres"),
      ["-D", data, ...options.flatMap((option) => ["-c", option])],
      {
        ...user,
        cwd: dir,
        stdio: ["ignore", "ignore", output],
      },
    );
    closeSync(output);
    child.unref();
    // Checks as `pg_ctl` does: the file's first line is the process id, its eighth line the state.
    const { pid } = child;
    await until("PostgreSQL to be ready", () => {
      const lines = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
      return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
    }).catch((error: Error) => {
      throw new Error(`${error.message}; it said:\n${log().slice(-2000)}`, {
        cause: error,
      });
    });
  }

  const log = () => readFileSync(logFile, "utf8");
  const refuseDeadlocks = () => {
    const position = log().indexOf("deadlock detected");
    if (position >= 0) throw new Error(`PostgreSQL: ${log().slice(position, position + 2000)}`);
  };
  const sql = (text: string) =>
    execute(
      "psql",
      [
        "-h",
        dir,
        "-p",
        String(port),
        "-U",
        "portico",
        "-d",
        "postgres",
        "-tAqX",
        "-v",
        "ON_ERROR_STOP=1",
      ],
      text,
    );
  const server: TestPostgres = {
    port,
    sql,
    log,
    refuseDeadlocks,
    start,
    emptyUrl(name) {
      const schema = name ?? `store_${++schemas}`;
      if (name !== undefined) sql(`CREATE SCHEMA ${name}`);
      else if (schemas % SCHEMAS_AT_ONCE === 1) sql(createSchemas(schemas).join(";"));
      const options = encodeURIComponent(`-c search_path=${schema}`);
      return `postgres://portico@/postgres?host=${encodeURIComponent(dir)}&port=${port}&options=${options}`;
    },
    tcpUrl: ({ user: name = "portico", password = PASSWORD, database = "postgres" } = {}) =>
      `postgres://${name}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
    async stop(how = "fast") {
      if (child === undefined || child.exitCode !== null) return;
      child.ref();
      const ended = once(child, "exit");
      process.kill(
        Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]),
        how === "fast" ? "SIGINT" : "SIGQUIT",
      );
      await ended;
      refuseDeadlocks();
    },
  };
  await start();
  return server;
}
