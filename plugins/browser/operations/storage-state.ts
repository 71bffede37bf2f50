/**
 * POST /state/save and /state/load: saves the cookies and storage of a profile in a file, and restores them from it.
 */
import { readFile, stat } from "node:fs/promises";
import { compile, PorticoError, type Static, Type } from "portico";
import { WEB_ADDRESS } from "portico/strings";
import { errors } from "../errors.ts";
import { withTimeout } from "../deadline.ts";
import { toPublicError, summarizeError, isGone } from "../failures.ts";
import { existingFile, openConfined } from "../files/confine.ts";
import { getTmpDir } from "../files/placed-files.ts";
import type { CommonInput, Op } from "../op.ts";

interface StateInput extends CommonInput {
  /** The path of the file, relative to the directory of states. */
  path: string;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 << 20;

const optional = Type.Optional;
const Origin = Type.Object({
  origin: Type.String(WEB_ADDRESS),
  localStorage: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
  indexedDB: optional(Type.Array(Type.Unknown())),
});
const Cookie = Type.Object({
  name: Type.String(),
  value: Type.String(),
  domain: Type.String({ minLength: 1 }),
  path: Type.String({ minLength: 1 }),
  expires: Type.Number(),
  httpOnly: Type.Boolean(),
  secure: Type.Boolean(),
  sameSite: Type.Union([Type.Literal("Strict"), Type.Literal("Lax"), Type.Literal("None")]),
});
/** The format of the library. */
const State = Type.Object({ cookies: Type.Array(Cookie), origins: Type.Array(Origin) });

const stateCheck = compile(State);

/** Throws a 501 for a relay profile: the state of a user's own browser belongs to the user. */
function rejectRelay({ profile }: Op): void {
  if (profile.driver !== "extension") return;
  throw errors.stateOverRelay();
}

/** Returns the directory of states. A saved state is as sensitive as passwords, so a sandbox has its own directory. */
const getStatesDir = async (op: Op): Promise<string> => op.deps.statesDir ?? (await getTmpDir(op));

/** Saves all cookies, and the storage of the sites that were visited since the browser started. */
export async function saveState(op: Op, input: StateInput): Promise<object> {
  rejectRelay(op);
  return op.session.queues.run("state", () => writeState(op, input));
}

async function writeState(op: Op, input: StateInput): Promise<object> {
  const file = await openConfined(await getStatesDir(op), input.path, op.deps.whyProtected);
  try {
    const { context } = op.session;
    const saving = context.storageState({ indexedDB: true });
    const state = await withTimeout(input.timeoutMs ?? TIMEOUT_MS, "Saving the state", saving);
    const text = JSON.stringify(state);
    await file.handle.writeFile(text);
    const { cookies, origins } = state;
    const path = await file.commit();
    return {
      ok: true,
      path,
      bytes: Buffer.byteLength(text),
      cookies: cookies.length,
      origins: origins.length,
    };
  } catch (error) {
    await file.discard();
    throw toPublicError(error, "Saving the state");
  }
}

/** Replaces all cookies and the storage of the sites in the file by the saved state. */
export async function loadState(op: Op, input: StateInput): Promise<object> {
  rejectRelay(op);
  return op.session.queues.run("state", () => replaceState(op, input));
}

async function replaceState(op: Op, input: StateInput): Promise<object> {
  const state = await readState(await getStatesDir(op), input.path);
  const { context } = op.session;
  // Loading the state fetches nothing, so checking the form of each address is enough.
  for (const { origin } of state.origins) op.deps.guard.precheck(origin);
  const loading = context.setStorageState(state as Parameters<typeof context.setStorageState>[0]);
  try {
    await withTimeout(input.timeoutMs ?? TIMEOUT_MS, "Loading the state", loading);
  } catch (error) {
    if (error instanceof PorticoError || isGone(error)) throw error;
    throw errors.stateRefused({ reason: summarizeError(error) }, { param: "path", cause: error });
  }
  return { ok: true, cookies: state.cookies.length, origins: state.origins.length };
}

async function readState(root: string, path: string): Promise<Static<typeof State>> {
  const file = await existingFile(root, path);
  if ((await stat(file)).size > MAX_BYTES)
    throw errors.stateTooLarge({ bytes: MAX_BYTES }, { param: "path" });
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw errors.stateNotJson({ param: "path", cause: error });
  }
  try {
    return stateCheck.parse(value);
  } catch (error) {
    throw errors.notAState({ reason: (error as Error).message }, { param: "path", cause: error });
  }
}
