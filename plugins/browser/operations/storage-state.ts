/** POST /state/save and /state/load: cookies and storage of a profile, kept in a file and brought back from it. */
import { readFile, stat } from "node:fs/promises";
import { compile, PorticoError, type Static, Type } from "portico";
import { WEB_ADDRESS } from "portico/strings";
import { errors } from "../errors.ts";
import { within } from "../deadline.ts";
import { failure, headline, isGone } from "../failures.ts";
import { existingFile, openConfined } from "../files/confine.ts";
import { tmpDir } from "../files/placed-files.ts";
import type { Common, Op } from "../op.ts";

interface StateInput extends Common {
  /** Below the directory of states. */
  path: string;
}

const STATE_MS = 30_000;
const MOST_BYTES = 64 << 20;

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
/** The library's own form. */
const State = Type.Object({ cookies: Type.Array(Cookie), origins: Type.Array(Origin) });

const check = compile(State);

/** 501: what a person's own browser keeps is the person's. */
function refuseOfRelay({ profile }: Op): void {
  if (profile.driver !== "extension") return;
  throw errors.stateOverRelay();
}

/** Where states lie: what one browser has saved is as good as its passwords, and not for a sandbox beside it. */
const statesDir = async (op: Op): Promise<string> => op.deps.statesDir ?? (await tmpDir(op));

/** Writes all cookies, and what the sites that were visited since the browser started keep in the browser. */
export async function saveState(op: Op, input: StateInput): Promise<object> {
  refuseOfRelay(op);
  return op.session.turns.take("state", () => writeState(op, input));
}

async function writeState(op: Op, input: StateInput): Promise<object> {
  const file = await openConfined(await statesDir(op), input.path, op.deps.whyProtected);
  try {
    const { context } = op.session;
    const saving = context.storageState({ indexedDB: true });
    const state = await within(input.timeoutMs ?? STATE_MS, "Saving the state", saving);
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
    throw failure(error, "Saving the state");
  }
}

/** Puts what such a file holds in place of all cookies and of what those sites keep. */
export async function loadState(op: Op, input: StateInput): Promise<object> {
  refuseOfRelay(op);
  return op.session.turns.take("state", () => replaceState(op, input));
}

async function replaceState(op: Op, input: StateInput): Promise<object> {
  const state = await readState(await statesDir(op), input.path);
  const { context } = op.session;
  // Nothing is fetched for it: the form of an address is enough.
  for (const { origin } of state.origins) op.deps.guard.precheck(origin);
  const loading = context.setStorageState(state as Parameters<typeof context.setStorageState>[0]);
  try {
    await within(input.timeoutMs ?? STATE_MS, "Loading the state", loading);
  } catch (error) {
    if (error instanceof PorticoError || isGone(error)) throw error;
    throw errors.stateRefused({ reason: headline(error) }, { param: "path", cause: error });
  }
  return { ok: true, cookies: state.cookies.length, origins: state.origins.length };
}

async function readState(root: string, path: string): Promise<Static<typeof State>> {
  const file = await existingFile(root, path);
  if ((await stat(file)).size > MOST_BYTES)
    throw errors.stateTooLarge({ bytes: MOST_BYTES }, { param: "path" });
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw errors.stateNotJson({ param: "path", cause: error });
  }
  try {
    return check.parse(value);
  } catch (error) {
    throw errors.notAState({ reason: (error as Error).message }, { param: "path", cause: error });
  }
}
