/** From a ref to an element that an action can be tried on, and from a failed try to the reason. */
import { PorticoError } from "portico";
import { attempt, left, pause, within } from "../deadline.ts";
import { callLog, failure, headline, isTimeout, plainText } from "../failures.ts";
import { type Probe, probeElement, type ProbeNeeds } from "../tab/page-scripts.ts";
import type { Locator } from "../drivers/playwright.ts";
import { locatorOf } from "../snapshot/hidden-boxes.ts";
import type { RefEntry } from "../snapshot/refs.ts";
import { type ClickLabel, labelClick, type Limits } from "./by-label.ts";
import { hindrance, hindranceInLog } from "./hindrance.ts";
import { type AriaNode, everyNode } from "../snapshot/aria-node.ts";
import { nameOf } from "../snapshot/names.ts";
import type { Tab } from "../tab/tab.ts";
import type { Act } from "./types.ts";

/** Something in the way gets this long to go (an animation, a spinner) unless the caller set a limit. */
const PATIENCE_MS = 1_500;
/** Looking at an element costs as much as a click on it: it waits this long, and most actions are over by then. */
const UNWATCHED_MS = 100;
/** A stale ref must be answered at once: candidates only where they can be had within this time. */
const CANDIDATES_MS = 30;

export const NOTHING: ProbeNeeds = { visible: false, enabled: false, editable: false, hit: false };
export const SEEN: ProbeNeeds = { ...NOTHING, visible: true };
export const EDITED: ProbeNeeds = { visible: true, enabled: true, editable: true, hit: false };
export const CLICKED: ProbeNeeds = { visible: true, enabled: true, editable: false, hit: true };
export const POINTED: ProbeNeeds = { visible: true, enabled: false, editable: false, hit: true };

interface Found {
  entry: RefEntry;
  locator: Locator;
  probe: Probe;
}

const spoken = ({ n, role, name }: RefEntry): string =>
  `${role}${name === "" ? "" : ` "${plainText(name).slice(0, 60)}"`} (ref ${n})`;

interface Candidate {
  ref: string;
  role: string;
  name: string;
}

/**
 * Elements that the caller may have meant: the same role and name, or the same role. From the page as it is, where that
 * is quick; else from the last snapshot.
 */
async function lookAlikes(tab: Tab, entry: RefEntry): Promise<Candidate[]> {
  const quick = tab.whole === undefined || tab.whole.ms < 300;
  const fresh = quick
    ? attempt(
        CANDIDATES_MS,
        tab.page.ariaSnapshotJSON({ mode: "ai" }) as Promise<AriaNode[]>,
        undefined,
      )
    : undefined;
  const roots = await fresh;
  const there =
    roots === undefined
      ? Object.values(tab.printed).map(({ role, name, native }) => ({ role, name, ref: native }))
      : [...everyNode(roots)].map((node) => ({
          role: node.role,
          name: nameOf(node),
          ref: node.ref,
        }));
  const same = there.filter(
    ({ ref, role }) => ref !== undefined && ref !== entry.native && role === entry.role,
  );
  const twins = same.filter(({ name }) => (name ?? "") === entry.name);
  return (twins.length > 0 ? twins : same).slice(0, 5).map(({ ref, role, name = "" }) => {
    const n = tab.refs.number(ref!, role, name);
    return { ref: `e${n}`, role, name: plainText(name).slice(0, 100) };
  });
}

/** 404 for a ref whose element is gone, with the elements of the same role and name, or of the same role. */
async function stale(tab: Tab, entry: RefEntry, param: string): Promise<PorticoError> {
  const candidates = await lookAlikes(tab, entry);
  const alike =
    candidates.length > 0 ? ` It may be ${candidates.map(({ ref }) => ref).join(" or ")} now.` : "";
  return new PorticoError(
    "ref_not_found",
    `The element of ref ${entry.n} (${entry.role}${entry.name ? ` "${plainText(entry.name).slice(0, 60)}"` : ""}) is no longer on the page: take a new snapshot.${alike}`,
    {
      param,
      details: { ref: `e${entry.n}`, candidates },
    },
  );
}

/** Finds the element of a ref. 400 for what is no ref, 404 at once for one that is stale, 504 where the page hangs. */
export async function findElement(
  tab: Tab,
  ref: unknown,
  needs: ProbeNeeds,
  timeoutMs: number,
  param = "ref",
): Promise<Found> {
  const entry = tab.refs.find(ref, param);
  const locator = locatorOf(tab.page, entry.native);
  const found = await within(
    timeoutMs,
    "Looking for the element (the page does not answer)",
    look(locator, needs, timeoutMs),
  ).catch((error: unknown) => {
    throw failure(error, "Looking for the element");
  });
  if (found === undefined) throw await stale(tab, entry, param);
  return { entry, locator, probe: found };
}

/** Finds an element once nothing stands in its way. 422 with the reason where something stays there. */
export async function findFree(trial: Omit<Trial, "work">): Promise<Found> {
  const { tab, ref, needs, what, timeoutMs, explicit, param } = trial;
  const start = Date.now();
  const patience = explicit ? timeoutMs : Math.min(timeoutMs, PATIENCE_MS);
  let hindered: PorticoError | undefined;
  for (;;) {
    const looking = findElement(
      tab,
      ref,
      { ...needs, scroll: true },
      left(start, timeoutMs),
      param,
    );
    // The last look may have no time left: what the one before has seen counts.
    const found = await looking.catch((error: PorticoError) => {
      throw error.code === "timeout" ? (hindered ?? error) : error;
    });
    const reason = hindrance(found.probe, needs);
    if (reason === undefined) return found;
    hindered = new PorticoError(
      "action_failed",
      `${what} failed: the ${spoken(found.entry)} ${reason}.`,
      {
        details: { ref: `e${found.entry.n}` },
      },
    );
    if (Date.now() - start >= patience) throw hindered;
    await pause(50);
  }
}

const DETACHED =
  /Invalid frame in aria-ref|Frame was detached|Execution context was destroyed|Element is not attached/i;

/**
 * Whether an element fits. The library counts none as well where its question was lost, by a navigation or when a
 * person's browser ends the extension's worker: so none is counted again.
 */
export async function fitsAny(locator: Locator): Promise<boolean> {
  return (await locator.count()) > 0 || (await locator.count()) > 0;
}

/** False at once where there is no such element; nothing waits for one to come. */
async function isThere(locator: Locator): Promise<boolean> {
  try {
    return await fitsAny(locator);
  } catch (error) {
    if (DETACHED.test(String((error as Error).message))) return false;
    throw error;
  }
}

/**
 * The element's state, or `undefined` at once where there is no such element. Counting does not wait, probing would:
 * both are sent together, so that the usual case costs one round trip. A look that is lost is taken again.
 */
async function look(
  locator: Locator,
  needs: ProbeNeeds,
  timeoutMs: number,
  tries = 2,
): Promise<Probe | undefined> {
  const giveUp = new AbortController();
  const probing = locator.evaluate(probeElement, needs, {
    timeout: timeoutMs,
    signal: giveUp.signal,
  });
  probing.catch(() => {});
  try {
    return (await isThere(locator)) ? await probing : undefined;
  } catch (error) {
    if (!DETACHED.test(String((error as Error).message))) throw error;
  } finally {
    giveUp.abort();
  }
  return tries > 1 ? look(locator, needs, timeoutMs, tries - 1) : undefined;
}

export interface Trial {
  tab: Tab;
  ref: unknown;
  needs: ProbeNeeds;
  /** What is done, as it begins a sentence: "The click". */
  what: string;
  timeoutMs: number;
  /** The caller set the limit, so it is used up. */
  explicit: boolean;
  param?: string;
  /** The action; it ends when the signal does. */
  work(locator: Locator, limits: Limits): Promise<unknown>;
  /** The same by the element's label, where the element itself is out of reach. */
  byLabel?(click: ClickLabel, locator: Locator, limits: Limits): Promise<unknown>;
}

/** What most actions try: on the element of their `ref`, within their own time. */
export const trial = ({
  tab,
  input,
  timeoutMs,
  explicit,
}: Act): Omit<Trial, "needs" | "what" | "work"> => ({
  tab,
  ref: input.ref as unknown,
  timeoutMs,
  explicit,
});

/**
 * Tries the action and watches the element meanwhile: a stale ref ends it at once, something in the way after a moment.
 * An action that can be done costs little more than itself. Says why where it does not work: 422 `action_failed` soon,
 * not 504 late.
 */
export async function tryOn(trial: Trial): Promise<unknown> {
  const { tab, needs, what, timeoutMs, explicit } = trial;
  const param = trial.param ?? "ref";
  const entry = tab.refs.find(trial.ref, param);
  const locator = locatorOf(tab.page, entry.native);
  const stop = new AbortController();
  const start = Date.now();
  let gone = false;
  let goesByLabel = false;
  const givesWay = ({ label, enabled, inert }: Probe): boolean =>
    trial.byLabel !== undefined && label !== undefined && enabled && !inert;
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number) => new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  async function watch(): Promise<void> {
    gone = !(await isThere(locator));
    if (gone) stop.abort();
    if (stop.signal.aborted) return;
    await wait(UNWATCHED_MS);
    // Not there any more: the action may have removed it itself.
    const probe = await look(locator, needs, timeoutMs);
    if (probe === undefined || stop.signal.aborted) return;
    goesByLabel = givesWay(probe);
    if (goesByLabel) return stop.abort();
    const isHindered = hindrance(probe, needs) !== undefined;
    if (!needs.hit && (explicit || !isHindered)) return;
    await wait(PATIENCE_MS);
    // What is in the way may have gone meanwhile, and what is out of sight is judged once the action could scroll to it.
    const again = await look(locator, { ...needs, scroll: true }, timeoutMs);
    goesByLabel = again !== undefined && givesWay(again);
    const isLost =
      !explicit && (again === undefined ? isHindered : hindrance(again, needs) !== undefined);
    if (goesByLabel || isLost) stop.abort();
  }
  void watch().catch(() => {});
  const work = async (): Promise<unknown> => {
    try {
      return await trial.work(locator, { timeout: timeoutMs, signal: stop.signal });
    } catch (error) {
      if (!goesByLabel || !trial.byLabel) throw error;
      const limits = { timeout: left(start, timeoutMs), signal: AbortSignal.timeout(timeoutMs) };
      return trial.byLabel(labelClick(locator, limits), locator, limits);
    }
  };
  try {
    return await within(timeoutMs + 500, what, work());
  } catch (error) {
    // Where the element went away while the action began, either may be the first to notice.
    const isLost = DETACHED.test(String((error as Error).message));
    if (gone || (isLost && !(await attempt(500, isThere(locator), true))))
      throw await stale(tab, entry, param);
    throw await whyNot(trial, entry, locator, error, stop.signal.aborted);
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

const NOT_ITS_KIND =
  /not an? <?(input|select|textarea)|not a checkbox|not have a role allowing|Input of type|Malformed value|Cannot type text/i;

async function whyNot(
  trial: Trial,
  entry: RefEntry,
  locator: Locator,
  error: unknown,
  stopped: boolean,
): Promise<PorticoError> {
  const { tab, needs, what, timeoutMs } = trial;
  const options = { details: { ref: `e${entry.n}` }, cause: error };
  const element = `the ${spoken(entry)}`;
  if (!stopped && !isTimeout(error)) {
    if (!NOT_ITS_KIND.test(String((error as Error).message))) return failure(error, what);
    return new PorticoError(
      "action_failed",
      `${what} failed: ${element} does not take it: ${headline(error)}`,
      options,
    );
  }
  const again = await attempt<Probe | "gone" | "silent">(
    500,
    look(locator, { ...needs, scroll: true }, 500).then((probe) => probe ?? "gone"),
    "silent",
  );
  if (again === "gone") return stale(tab, entry, trial.param ?? "ref");
  const isSilent = again === "silent";
  // A page that is too busy to say it now may have said it before.
  const reason = (isSilent ? undefined : hindrance(again, needs)) ?? hindranceInLog(callLog(error));
  if (reason !== undefined)
    return new PorticoError("action_failed", `${what} failed: ${element} ${reason}.`, options);
  const late = isSilent
    ? `within ${timeoutMs} ms: the page does not answer.`
    : `in time: ${headline(error)}`;
  return new PorticoError("timeout", `${what} did not end ${late}`, options);
}
