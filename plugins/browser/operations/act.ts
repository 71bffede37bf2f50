/** POST /act: runs one action, or a batch of them, on a tab. */
import { compile, didYouMean, PorticoError, Type } from "portico";
import { errors } from "../errors.ts";
import { attempt, remainingMs } from "../deadline.ts";
import { COMMON } from "../declarations/declare.ts";
import { toPublicError, isGone } from "../failures.ts";
import type { Page } from "../drivers/playwright.ts";
import type { Tab } from "../tab/tab.ts";
import { KINDS } from "../actions/kinds.ts";
import type { Kind } from "../actions/types.ts";
import { checkCurrentPage, type CommonInput, type Op, getReadableTab } from "../op.ts";
import { takeSnapshot } from "./snapshot.ts";

interface ActInput extends CommonInput {
  kind?: unknown;
  snapshot?: unknown;
  [field: string]: unknown;
}

const checks = new Map<string, ReturnType<typeof compile>>();

/**
 * Returns the action's kind and its validated fields. Throws a 400 that suggests the nearest kind; for `selector`, it
 * explains why selectors are not supported.
 */
function checkAction(
  action: Record<string, unknown>,
  path = "",
): { kind: Kind; name: string; input: unknown } {
  const param = (name: string): string => (path === "" ? name : `${path}.${name}`);
  const name = action["kind"];
  if (typeof name !== "string" || !Object.hasOwn(KINDS, name)) {
    const suggestion = typeof name === "string" ? didYouMean(name, Object.keys(KINDS)) : undefined;
    const hint =
      suggestion === undefined
        ? `Use one of: ${Object.keys(KINDS).join(", ")}.`
        : `Did you mean ${suggestion}?`;
    throw name === undefined
      ? errors.kindMissing({ hint }, { param: param("kind") })
      : errors.unknownKind({ kind: JSON.stringify(name), hint }, { param: param("kind") });
  }
  if (action["selector"] !== undefined) {
    throw errors.selectorInAction({ param: param("selector") });
  }
  const kind = KINDS[name]!;
  let check = checks.get(name);
  if (check === undefined) {
    check = compile(Type.Object({ ...kind.schema["properties"], timeoutMs: COMMON.timeoutMs }));
    checks.set(name, check);
  }
  const fields = check.merge({ body: action }, path);
  try {
    return { kind, name, input: check.parse(fields) };
  } catch (error) {
    if (path === "" || !(error instanceof PorticoError)) throw error;
    throw new PorticoError(error.code, error.message, { param: param(error.param ?? "") });
  }
}

/**
 * The time in ms within which the browser reports a file chooser that the action opened. An armed chooser may be meant
 * for a later action.
 */
const CHOOSER_MS = 1_000;

/** Runs one action in its tab, also each action of a batch. */
async function runAction(
  op: Op,
  tab: Tab,
  action: Record<string, unknown>,
  path = "",
): Promise<unknown> {
  const { kind, name, input } = checkAction(action, path);
  const isExplicit = typeof action["timeoutMs"] === "number";
  const timeoutMs = isExplicit ? (action["timeoutMs"] as number) : kind.timeoutMs;
  try {
    const runNested = (next: Record<string, unknown>, place: string): Promise<unknown> =>
      runAction(op, tab, next, place);
    const chooser = name === "click" || name === "press" ? tab.armedChooser : undefined;
    const start = Date.now();
    const work = kind.run({
      op,
      tab,
      input,
      timeoutMs,
      isExplicit,
      runNested,
    });
    // A batch reports the failure of each action itself, and a closing tab is expected to end.
    const result = await (name === "batch" || name === "close" ? work : tab.whileAlive(work));
    // Wait until an opened file chooser has its files, so that the next action sees them.
    const openedChooser = chooser && (await attempt(CHOOSER_MS, chooser, undefined));
    if (openedChooser) await attempt(remainingMs(start, timeoutMs), openedChooser.done, undefined);
    return result;
  } catch (error) {
    throw toPublicError(error, `The action ${name}`);
  }
}

/** The time in ms that a response waits for the page that an action navigated to. */
const NAVIGATION_WAIT_MS = 5_000;
/**
 * The time in ms that a response waits for a window that the page requested, even on a busy machine. The browser may
 * have blocked it.
 */
const POPUP_WAIT_MS = 3_000;

export async function runAct(op: Op, action: ActInput): Promise<object> {
  const { kind, name } = checkAction(action);
  checkSnapshotMode(action);
  // A page that may not be read may still be closed.
  const tab =
    name === "close"
      ? await op.session.tabs.get(action.targetId)
      : await getReadableTab(op, action.targetId, action.timeoutMs);
  const start = Date.now();
  const { result, popups } = await performAction(op, tab, kind, name, action);
  const isClosed = tab.page.isClosed();
  // The page that the action led to is checked before the response contains anything of it.
  if (!isClosed) await checkCurrentPage(op, tab.url);
  const response: Record<string, unknown> = {
    ok: true,
    targetId: tab.targetId,
    url: tab.url,
    ...resultFields(name, result),
  };
  if (isClosed) response["closed"] = true;
  const dialogs = tab.dialogs.recordsSince(start);
  if (dialogs.length > 0) response["dialogs"] = dialogs.slice(-20);
  if (popups.length > 0) response["newTabs"] = await listNewTabs(op, popups);
  if (action.snapshot !== undefined && !isClosed)
    Object.assign(response, await takeFreshSnapshot(op, tab, action.snapshot));
  return response;
}

function checkSnapshotMode(
  action: ActInput,
): asserts action is ActInput & { snapshot?: "efficient" | "ai" | undefined } {
  const { snapshot } = action;
  if (snapshot === undefined || snapshot === "efficient" || snapshot === "ai") return;
  throw errors.badSnapshotMode({ param: "snapshot" });
}

/** Runs the action and waits for its consequences. Returns its result and the windows that it opened. */
async function performAction(
  op: Op,
  tab: Tab,
  kind: Kind,
  name: string,
  action: ActInput,
): Promise<{ result: unknown; popups: readonly Page[] }> {
  const start = Date.now();
  const timeoutMs = typeof action.timeoutMs === "number" ? action.timeoutMs : kind.timeoutMs;
  const popups: Page[] = [];
  const onPopup = (popup: Page): void => void popups.push(popup);
  tab.popupListeners.add(onPopup);
  const { navigationCount, windowRequestCount } = tab;
  let result: unknown;
  try {
    const work = (): Promise<unknown> => runAction(op, tab, action);
    result = kind.isQueued
      ? await tab.runExclusively(timeoutMs, `The action ${name}`, work)
      : await work();
    await tab.waitForArrival(
      navigationCount,
      Math.min(NAVIGATION_WAIT_MS, remainingMs(start, timeoutMs + 1_000)),
      kind.isQueued,
    );
    if (tab.windowRequestCount !== windowRequestCount && popups.length === 0 && !tab.isClosed) {
      await attempt(
        POPUP_WAIT_MS,
        tab.page.waitForEvent("popup", { timeout: POPUP_WAIT_MS }),
        undefined,
      );
    }
  } catch (error) {
    if (!kind.isQueued || !isSelfClosed(tab, error)) throw addDialogs(error, tab, start);
  } finally {
    tab.popupListeners.delete(onPopup);
  }
  return { result, popups };
}

/** True if the page closed itself, which counts as success of the action. */
const isSelfClosed = (tab: Tab, error: unknown): boolean =>
  (tab.isClosed || tab.page.isClosed()) && isGone((error as { cause?: unknown }).cause ?? error);

/** Converts the result of an action to fields of the response. */
function resultFields(name: string, result: unknown): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  if (result !== undefined) fields["result"] = result;
  if (name === "type" && result !== undefined)
    fields["value"] = (result as { value: string }).value;
  if (name === "batch") fields["ok"] = (result as { ok: boolean }[]).every(({ ok }) => ok);
  return fields;
}

/** Lists the windows that the action opened, once they are under control. */
async function listNewTabs(op: Op, opened: readonly Page[]): Promise<object[]> {
  await attempt(2000, op.session.tabs.list(), []);
  return op.session.tabs.all
    .filter(({ page }) => opened.includes(page))
    .map(({ targetId, url }) => ({ targetId, url }));
}

async function takeFreshSnapshot(op: Op, tab: Tab, mode: "efficient" | "ai"): Promise<object> {
  await tab.waitUntilSettled(20_000);
  const { ok: _ok, ...rest } = await takeSnapshot(op, tab, mode === "efficient" ? { mode } : {});
  return rest;
}

/** Adds the dialogs that the page opened meanwhile to the error of a failed action. */
function addDialogs(error: unknown, tab: Tab, since: number): unknown {
  const dialogs = tab.dialogs.recordsSince(since);
  if (dialogs.length === 0 || !(error instanceof PorticoError)) return error;
  return new PorticoError(error.code, error.message, {
    param: error.param,
    details: { ...error.details, dialogs: dialogs.slice(-5) },
    cause: error.cause,
  });
}
