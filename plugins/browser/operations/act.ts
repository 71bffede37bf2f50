/** POST /act: one action, or several, on a tab. */
import { compile, didYouMean, PorticoError, Type } from "portico";
import { errors } from "../errors.ts";
import { attempt, remainingMs } from "../deadline.ts";
import { COMMON } from "../declarations/declare.ts";
import { failure, isGone } from "../failures.ts";
import type { Page } from "../drivers/playwright.ts";
import type { Tab } from "../tab/tab.ts";
import { KINDS } from "../actions/kinds.ts";
import type { Kind } from "../actions/types.ts";
import { checkShown, type Common, type Op, readableTab } from "../op.ts";
import { takeSnapshot } from "./snapshot.ts";

interface ActInput extends Common {
  kind?: unknown;
  snapshot?: unknown;
  [field: string]: unknown;
}

const checks = new Map<string, ReturnType<typeof compile>>();

/** The action's kind, and its fields checked. 400 with the nearest kind; `selector` is refused with the reason. */
function checkAction(
  given: Record<string, unknown>,
  at = "",
): { kind: Kind; name: string; input: unknown } {
  const param = (name: string): string => (at === "" ? name : `${at}.${name}`);
  const name = given["kind"];
  if (typeof name !== "string" || !Object.hasOwn(KINDS, name)) {
    const near = typeof name === "string" ? didYouMean(name, Object.keys(KINDS)) : undefined;
    const hint =
      near === undefined ? `One of: ${Object.keys(KINDS).join(", ")}.` : `Did you mean ${near}?`;
    throw name === undefined
      ? errors.kindMissing({ hint }, { param: param("kind") })
      : errors.unknownKind({ kind: JSON.stringify(name), hint }, { param: param("kind") });
  }
  if (given["selector"] !== undefined) {
    throw errors.selectorInAction({ param: param("selector") });
  }
  const kind = KINDS[name]!;
  let check = checks.get(name);
  if (check === undefined) {
    check = compile(Type.Object({ ...kind.schema["properties"], timeoutMs: COMMON.timeoutMs }));
    checks.set(name, check);
  }
  const members = check.merge({ body: given }, at);
  try {
    return { kind, name, input: check.parse(members) };
  } catch (error) {
    if (at === "" || !(error instanceof PorticoError)) throw error;
    throw new PorticoError(error.code, error.message, { param: param(error.param ?? "") });
  }
}

/** By then the browser has reported a file chooser that the action opened; an armed one may be meant for a later action. */
const CHOOSER_MS = 1_000;

/** Runs one action in its tab; used for batches too. */
async function runAction(
  op: Op,
  tab: Tab,
  given: Record<string, unknown>,
  at = "",
): Promise<unknown> {
  const { kind, name, input } = checkAction(given, at);
  const explicit = typeof given["timeoutMs"] === "number";
  const timeoutMs = explicit ? (given["timeoutMs"] as number) : kind.timeoutMs;
  try {
    const again = (next: Record<string, unknown>, place: string): Promise<unknown> =>
      runAction(op, tab, next, place);
    const chooser = name === "click" || name === "press" ? tab.armedChooser : undefined;
    const start = Date.now();
    const work = kind.run({ op, tab, input, timeoutMs, explicit, again });
    // A batch tells of each of its actions; to close a tab is to see it end.
    const result = await (name === "batch" || name === "close" ? work : tab.whileAlive(work));
    // What the action opened has its files before the next one looks at them.
    const opened = chooser && (await attempt(CHOOSER_MS, chooser, undefined));
    if (opened) await attempt(remainingMs(start, timeoutMs), opened.over, undefined);
    return result;
  } catch (error) {
    throw failure(error, `The action ${name}`);
  }
}

/** How long an answer waits for the page that an action led to. */
const ARRIVAL_MS = 5_000;
/** And for a window that the page asked for, on a busy machine too; the browser may have refused it. */
const WINDOW_MS = 3_000;

export async function act(op: Op, given: ActInput): Promise<object> {
  const { kind, name } = checkAction(given);
  checkSnapshotMode(given);
  // A page that may not be read may still be closed.
  const tab =
    name === "close"
      ? await op.session.tabs.get(given.targetId)
      : await readableTab(op, given.targetId, given.timeoutMs);
  const start = Date.now();
  const { result, opened } = await perform(op, tab, kind, name, given);
  const isClosed = tab.page.isClosed();
  // What an action led to is judged before the response shows anything of it.
  if (!isClosed) await checkShown(op, tab.url);
  const answer: Record<string, unknown> = {
    ok: true,
    targetId: tab.targetId,
    url: tab.url,
    ...outcome(name, result),
  };
  if (isClosed) answer["closed"] = true;
  const dialogs = tab.dialogs.since(start);
  if (dialogs.length > 0) answer["dialogs"] = dialogs.slice(-20);
  if (opened.length > 0) answer["newTabs"] = await newTabs(op, opened);
  if (given.snapshot !== undefined && !isClosed)
    Object.assign(answer, await freshSnapshot(op, tab, given.snapshot));
  return answer;
}

function checkSnapshotMode(
  given: ActInput,
): asserts given is ActInput & { snapshot?: "efficient" | "ai" | undefined } {
  const { snapshot } = given;
  if (snapshot === undefined || snapshot === "efficient" || snapshot === "ai") return;
  throw errors.badSnapshotMode({ param: "snapshot" });
}

/** Runs the action and waits for what it led to: its result, and the windows that it opened. */
async function perform(
  op: Op,
  tab: Tab,
  kind: Kind,
  name: string,
  given: ActInput,
): Promise<{ result: unknown; opened: readonly Page[] }> {
  const start = Date.now();
  const timeoutMs = typeof given.timeoutMs === "number" ? given.timeoutMs : kind.timeoutMs;
  const opened: Page[] = [];
  const onPopup = (popup: Page): void => void opened.push(popup);
  tab.popupListeners.add(onPopup);
  const { moves, windows } = tab;
  let result: unknown;
  try {
    const work = (): Promise<unknown> => runAction(op, tab, given);
    result = kind.queued
      ? await tab.exclusive(timeoutMs, `the action ${name}`, work)
      : await work();
    await tab.arrived(
      moves,
      Math.min(ARRIVAL_MS, remainingMs(start, timeoutMs + 1_000)),
      kind.queued,
    );
    if (tab.windows !== windows && opened.length === 0 && !tab.closed) {
      await attempt(WINDOW_MS, tab.page.waitForEvent("popup", { timeout: WINDOW_MS }), undefined);
    }
  } catch (error) {
    if (!kind.queued || !closedItself(tab, error)) throw withDialogs(error, tab, start);
  } finally {
    tab.popupListeners.delete(onPopup);
  }
  return { result, opened };
}

/** A page that closes itself on a click did what was asked. */
const closedItself = (tab: Tab, error: unknown): boolean =>
  (tab.closed || tab.page.isClosed()) && isGone((error as { cause?: unknown }).cause ?? error);

/** What an action returned, as the response shows it. */
function outcome(name: string, result: unknown): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  if (result !== undefined) shown["result"] = result;
  if (name === "type" && result !== undefined) shown["value"] = (result as { value: string }).value;
  if (name === "batch") shown["ok"] = (result as { ok: boolean }[]).every(({ ok }) => ok);
  return shown;
}

/** The windows that the action opened, once they are under control. */
async function newTabs(op: Op, opened: readonly Page[]): Promise<object[]> {
  await attempt(2000, op.session.tabs.list(), []);
  return op.session.tabs.all
    .filter(({ page }) => opened.includes(page))
    .map(({ targetId, url }) => ({ targetId, url }));
}

async function freshSnapshot(op: Op, tab: Tab, mode: "efficient" | "ai"): Promise<object> {
  await tab.settled(20_000);
  const { ok: _ok, ...rest } = await takeSnapshot(op, tab, mode === "efficient" ? { mode } : {});
  return rest;
}

/** An action that failed while the page was asking something says so. */
function withDialogs(error: unknown, tab: Tab, since: number): unknown {
  const dialogs = tab.dialogs.since(since);
  if (dialogs.length === 0 || !(error instanceof PorticoError)) return error;
  return new PorticoError(error.code, error.message, {
    param: error.param,
    details: { ...error.details, dialogs: dialogs.slice(-5) },
    cause: error.cause,
  });
}
