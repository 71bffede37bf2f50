/** `/kernel/config`: the configuration as it may be shown, its changes, and what it was before. */
import {
  type Call,
  type ConfigEdit,
  type ConfigWritten,
  exactJson,
  isPorticoError,
  type Management,
  MASK,
  type Mount,
  parseKeyPath,
  PorticoError,
  reply,
  type Static,
} from "portico";
import { expectedVersions, versionTag } from "portico/strings";
import { printable } from "../config/schema.ts";
import { errors } from "../errors.ts";
import {
  configRoutes,
  type importRequest,
  type keyChange,
  type patch,
  type undoRequest,
} from "./routes-schema.ts";

type Config = Management["config"];

/** Where a version of the configuration is read. */
const SOURCE = "GET /kernel/config";

export function mountConfigRoutes(mount: Mount, { config }: Pick<Management, "config">): void {
  mount.route("GET", "/kernel/config", configRoutes.show, () => showConfig(config));
  mount.route("POST", "/kernel/config", configRoutes.set, async (call) => {
    const { key, value } = await readBody<Static<typeof keyChange>>(call);
    const path = parseKeyPath(key);
    const edit = value === undefined ? { path, remove: true as const } : { path, value };
    const written = await change(config, call, [edit], "value");
    return answer({ ok: true, key, ...written });
  });
  mount.route("PATCH", "/kernel/config", configRoutes.change, async (call) => {
    const body = await readBody<Static<typeof patch>>(call);
    const isMembers = "members" in body;
    const edits = isMembers ? memberEdits(config, body.path, body.members) : body.edits;
    const written = await change(config, call, edits, isMembers ? "members" : "edits");
    return answer({ ok: true, path: isMembers ? body.path : undefined, ...written });
  });
  mountHistoryRoutes(mount, config);
  mountTransferRoutes(mount, config);
}

function mountTransferRoutes(mount: Mount, config: Config): void {
  mount.route("GET", "/kernel/config/export", configRoutes.export, async () => {
    await config.refresh();
    return answer({ ...config.exported() });
  });
  mount.route("POST", "/kernel/config/import", configRoutes.import, async (call) => {
    const { configuration } = await readBody<Static<typeof importRequest>>(call);
    refuseMasked(configuration, "configuration");
    await config.refresh();
    const how = { expected: expectedVersions(call, SOURCE), dryRun: isDryRun(call) };
    const written = await config
      .import(configuration, how)
      .catch(refusing(config, call, "configuration"));
    return answer({ ok: true, ...withoutUndo(written) });
  });
}

function mountHistoryRoutes(mount: Mount, config: Config): void {
  mount.route("GET", "/kernel/config/history", configRoutes.history, async () => ({
    versions: (await config.versions()).reverse(),
  }));
  mount.route("GET", "/kernel/config/diff", configRoutes.diff, async ({ query }) => ({
    changes: await config.differences(versionIn(query, "from"), versionIn(query, "to")),
  }));
  mount.route("POST", "/kernel/config/undo", configRoutes.undo, async (call) => {
    const { to } = await call.json<Static<typeof undoRequest>>();
    const how = { expected: expectedVersions(call, SOURCE), dryRun: isDryRun(call) };
    const written = await config.restore(to, how).catch(refusing(config, call, "to"));
    return answer({ ok: true, ...withoutUndo(written) });
  });
}

/** A whole number beyond 2^53 is the text of its digits here, as where the file holds one. */
async function readBody<T>(call: Call): Promise<T> {
  return exactJson.toPlain(await call.json()) as T;
}

async function showConfig(config: Config) {
  await config.refresh();
  const body = {
    version: await config.version(),
    schema: printable(config.schema()),
    value: config.shown(),
    written: config.written(),
    problem: config.problem() ?? null,
    leftOut: await config.leftOut(),
    awaitingStart: config.awaitingStart(),
  };
  return answer(body);
}

/** The `ETag` of the response holds the version too. */
function answer(body: { version: string } & Record<string, unknown>) {
  return reply(200, body, { etag: versionTag(body.version) });
}

async function change(config: Config, call: Call, edits: readonly ConfigEdit[], param: string) {
  const expected = expectedVersions(call, SOURCE);
  const shown = config.shown();
  const unmaskedEdits = edits.map((edit) =>
    "value" in edit && isObject(edit.value)
      ? { ...edit, value: unmasked(edit.value, at(shown, edit.path)) }
      : edit,
  );
  for (const edit of unmaskedEdits) if ("value" in edit) refuseMasked(edit.value, param);
  const written = await config
    .change(unmaskedEdits, { expected, dryRun: isDryRun(call) })
    .catch(refusing(config, call, param));
  return withoutUndo(written);
}

const withoutUndo = ({ undo: _, ...written }: ConfigWritten) => written;

const isDryRun = ({ query }: Call): boolean => query.get("dryRun") === "true";

/** `null` removes a member. The members that are not named stay as they are written. */
function memberEdits(
  config: Config,
  path: readonly (string | number)[],
  members: Record<string, unknown>,
): ConfigEdit[] {
  const present = at(config.shown(), path);
  if (present !== undefined && !isObject(present)) throw errors.noObjectAtPath({ param: "path" });
  return Object.entries(members).map(([name, value]) => {
    const member = [...path, name];
    return value === null ? { path: member, remove: true } : { path: member, value };
  });
}

function versionIn(query: URLSearchParams, name: string): number | string | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function at(value: unknown, path: readonly (string | number)[]): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as Record<string | number, unknown>)[step];
  }
  return here;
}

const isMasked = (value: unknown): boolean => JSON.stringify(value ?? null).includes(MASK);

/** What comes back as it was shown, masked, is `undefined` here: its text stays as it is. */
function unmasked(value: unknown, shown: unknown): unknown {
  if (!isObject(value)) {
    const isKept = isMasked(value) && JSON.stringify(value) === JSON.stringify(shown);
    return isKept ? undefined : value;
  }
  const members = Object.entries(value).map(([name, member]) => [
    name,
    unmasked(member, at(shown, [name])),
  ]);
  return Object.fromEntries(members);
}

/** Anyone who saves what was masked would lose what is there. */
function refuseMasked(value: unknown, param: string): void {
  if (isMasked(value)) throw errors.maskedValue({ param });
}

/** A change that would not load is the caller's fault; the refusal of one that comes too late says what has changed since. */
function refusing(config: Config, call: Call, param: string): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!isPorticoError(error)) throw error;
    if (error.code === "precondition_failed") throw await withChanges(config, call, error);
    if (error.code !== "config_error") throw error;
    throw new PorticoError("invalid_request_error", error.message, {
      param,
      details: error.details,
      cause: error,
    });
  };
}

async function withChanges(config: Config, call: Call, error: PorticoError) {
  const [read] = expectedVersions(call, SOURCE);
  const versions = await config.versions();
  const current = versions.at(-1);
  const isKept = versions.some(({ version }) => version === read);
  const changes = isKept ? await config.differences(read) : undefined;
  return new PorticoError("precondition_failed", error.message, {
    details: { ...error.details, changes, latest: current },
  });
}
