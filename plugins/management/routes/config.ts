/** `/kernel/config`: the configuration with masked secrets, its changes, and its earlier versions. */
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

/** The route that returns the configuration's version, for error messages about `If-Match`. */
const SOURCE = "GET /kernel/config";

export function mountConfigRoutes(mount: Mount, { config }: Pick<Management, "config">): void {
  mount.route("GET", "/kernel/config", configRoutes.show, () => showConfig(config));
  mount.route("POST", "/kernel/config", configRoutes.set, async (call) => {
    const { key, value } = await readBody<Static<typeof keyChange>>(call);
    const path = parseKeyPath(key);
    const edit = value === undefined ? { path, remove: true as const } : { path, value };
    const written = await change(config, call, [edit], "value");
    return respond({ ok: true, key, ...written });
  });
  mount.route("PATCH", "/kernel/config", configRoutes.change, async (call) => {
    const body = await readBody<Static<typeof patch>>(call);
    const hasMembers = "members" in body;
    const edits = hasMembers ? memberEdits(config, body.path, body.members) : body.edits;
    const written = await change(config, call, edits, hasMembers ? "members" : "edits");
    return respond({ ok: true, path: hasMembers ? body.path : undefined, ...written });
  });
  mountHistoryRoutes(mount, config);
  mountTransferRoutes(mount, config);
}

function mountTransferRoutes(mount: Mount, config: Config): void {
  mount.route("GET", "/kernel/config/export", configRoutes.export, async () => {
    await config.refresh();
    return respond({ ...config.exported() });
  });
  mount.route("POST", "/kernel/config/import", configRoutes.import, async (call) => {
    const { configuration } = await readBody<Static<typeof importRequest>>(call);
    refuseMasked(configuration, "configuration");
    await config.refresh();
    const how = { expected: expectedVersions(call, SOURCE), dryRun: isDryRun(call) };
    const written = await config
      .import(configuration, how)
      .catch(toRequestError(config, call, "configuration"));
    return respond({ ok: true, ...removeUndo(written) });
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
    const written = await config.restore(to, how).catch(toRequestError(config, call, "to"));
    return respond({ ok: true, ...removeUndo(written) });
  });
}

/** Reads a JSON body. An integer beyond 2^53 becomes a string of its digits, as in the configuration file. */
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
  return respond(body);
}

/** Builds a response whose `ETag` holds the version, too. */
function respond(body: { version: string } & Record<string, unknown>) {
  return reply(200, body, { etag: versionTag(body.version) });
}

async function change(config: Config, call: Call, edits: readonly ConfigEdit[], param: string) {
  const expected = expectedVersions(call, SOURCE);
  const shown = config.shown();
  const unmaskedEdits = edits.map((edit) =>
    "value" in edit && isObject(edit.value)
      ? { ...edit, value: removeUnchangedMasks(edit.value, valueAt(shown, edit.path)) }
      : edit,
  );
  for (const edit of unmaskedEdits) if ("value" in edit) refuseMasked(edit.value, param);
  const written = await config
    .change(unmaskedEdits, { expected, dryRun: isDryRun(call) })
    .catch(toRequestError(config, call, param));
  return removeUndo(written);
}

const removeUndo = ({ undo: _, ...written }: ConfigWritten) => written;

const isDryRun = ({ query }: Call): boolean => query.get("dryRun") === "true";

/** Returns the edits that set each member, or remove it if its value is `null`. Other members stay unchanged. */
function memberEdits(
  config: Config,
  path: readonly (string | number)[],
  members: Record<string, unknown>,
): ConfigEdit[] {
  const currentValue = valueAt(config.shown(), path);
  if (currentValue !== undefined && !isObject(currentValue))
    throw errors.noObjectAtPath({ param: "path" });
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

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, step))
      return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}

const isMasked = (value: unknown): boolean => JSON.stringify(value ?? null).includes(MASK);

/** Replaces masked values that are equal to the shown ones with `undefined`, which leaves them unchanged in the file. */
function removeUnchangedMasks(value: unknown, shown: unknown): unknown {
  if (!isObject(value)) {
    const isUnchanged = isMasked(value) && JSON.stringify(value) === JSON.stringify(shown);
    return isUnchanged ? undefined : value;
  }
  const members = Object.entries(value).map(([name, member]) => [
    name,
    removeUnchangedMasks(member, valueAt(shown, [name])),
  ]);
  return Object.fromEntries(members);
}

/** Throws if a value is masked, because saving it would overwrite the secret. */
function refuseMasked(value: unknown, param: string): void {
  if (isMasked(value)) throw errors.maskedValue({ param });
}

/**
 * Converts errors of a change: a configuration that cannot load is the caller's fault, and a version conflict gets the
 * changes since then.
 */
function toRequestError(
  config: Config,
  call: Call,
  param: string,
): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!isPorticoError(error)) throw error;
    if (error.code === "precondition_failed") throw await addChanges(config, call, error);
    if (error.code !== "config_error") throw error;
    throw new PorticoError("invalid_request_error", error.message, {
      param,
      details: error.details,
      cause: error,
    });
  };
}

async function addChanges(config: Config, call: Call, error: PorticoError) {
  const [readVersion] = expectedVersions(call, SOURCE);
  const versions = await config.versions();
  const current = versions.at(-1);
  const isKept = versions.some(({ version }) => version === readVersion);
  const changes = isKept ? await config.differences(readVersion) : undefined;
  return new PorticoError("precondition_failed", error.message, {
    details: { ...error.details, changes, latest: current },
  });
}
