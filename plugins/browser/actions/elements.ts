/** Finds the element of a ref, tries an action on it, and explains why an action failed. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { attempt, remainingMs, pause, withTimeout } from "../deadline.ts";
import {
  readCallLog,
  toPublicError,
  summarizeError,
  isTimeout,
  stripControlCharacters,
} from "../failures.ts";
import type { Probe, ProbeNeeds } from "../tab/page-scripts.ts";
import type { Locator } from "../drivers/playwright.ts";
import { locatorOf } from "../snapshot/hidden-boxes.ts";
import type { RefEntry } from "../snapshot/refs.ts";
import { createLabelClick } from "./by-label.ts";
import { progressOf } from "./clicking.ts";
import { ElementWatch, PATIENCE_MS } from "./element-watch.ts";
import { findObstacle, findObstacleInLog } from "./obstacles.ts";
import { DETACHED, isPresent, probeLocator } from "./probing.ts";
import type { Trial } from "./trial.ts";
import { everyNode } from "../snapshot/aria-node.ts";
import { readAria } from "../snapshot/operable.ts";
import { nameOf } from "../snapshot/names.ts";
import type { Tab } from "../tab/tab.ts";
import type { Act } from "./types.ts";

/** The time in ms to search for candidates, since a stale ref must be reported at once. */
const CANDIDATES_MS = 30;

export const NO_NEEDS: ProbeNeeds = { visible: false, enabled: false, editable: false, hit: false };
export const NEEDS_VISIBLE: ProbeNeeds = { ...NO_NEEDS, visible: true };
export const NEEDS_EDITABLE: ProbeNeeds = {
  visible: true,
  enabled: true,
  editable: true,
  hit: false,
};
export const NEEDS_CLICKABLE: ProbeNeeds = {
  visible: true,
  enabled: true,
  editable: false,
  hit: true,
};
export const NEEDS_UNCOVERED: ProbeNeeds = {
  visible: true,
  enabled: false,
  editable: false,
  hit: true,
};

interface ProbedElement {
  entry: RefEntry;
  locator: Locator;
  probe: Probe;
}

const describeElement = ({ n, role, name }: RefEntry): string =>
  `${role}${name === "" ? "" : ` "${stripControlCharacters(name).slice(0, 60)}"`} (ref ${n})`;

interface Candidate {
  ref: string;
  role: string;
  name: string;
}

/**
 * Finds elements that the caller may have meant: with the same role and name, or else with the same role. They are read
 * from the current page if that is fast, else from the last snapshot.
 */
async function findCandidates(tab: Tab, entry: RefEntry): Promise<Candidate[]> {
  const isQuick = tab.lastWholeSnapshot === undefined || tab.lastWholeSnapshot.ms < 300;
  const reading = isQuick ? attempt(CANDIDATES_MS, readAria(tab), undefined) : undefined;
  const roots = await reading;
  const elements =
    roots === undefined
      ? Object.values(tab.printedRefs).map(({ role, name, native }) => ({
          role,
          name,
          ref: native,
        }))
      : [...everyNode(roots)].map((node) => ({
          role: node.role,
          name: nameOf(node),
          ref: node.ref,
        }));
  const sameRole = elements.filter(
    ({ ref, role }) => ref !== undefined && ref !== entry.native && role === entry.role,
  );
  const twins = sameRole.filter(({ name }) => (name ?? "") === entry.name);
  return (twins.length > 0 ? twins : sameRole).slice(0, 5).map(({ ref, role, name = "" }) => {
    const n = tab.refs.number(ref!, role, name);
    return { ref: `e${n}`, role, name: stripControlCharacters(name).slice(0, 100) };
  });
}

/** Creates the 404 for a ref whose element no longer exists, with similar elements as candidates. */
async function staleRefError(tab: Tab, entry: RefEntry, param: string): Promise<PorticoError> {
  const candidates = await findCandidates(tab, entry);
  const hint =
    candidates.length > 0
      ? ` The element may now have the ref ${candidates.map(({ ref }) => ref).join(" or ")}.`
      : "";
  return errors.staleRef(
    {
      ref: entry.n,
      element: `${entry.role}${entry.name ? ` "${stripControlCharacters(entry.name).slice(0, 60)}"` : ""}`,
      hint,
    },
    { param, details: { ref: `e${entry.n}`, candidates } },
  );
}

/** The time in ms to read a page that re-renders an element. */
const REDRAW_MS = 2_000;

/** Returns the number of the element that replaced another: the only new one with its role and name. */
async function replacementOf(tab: Tab, { role, name }: RefEntry): Promise<number | undefined> {
  const roots = await attempt(REDRAW_MS, readAria(tab), []);
  const twins = [...everyNode(roots)].filter(
    (node) =>
      node.ref !== undefined &&
      !tab.refs.has(node.ref) &&
      node.role === role &&
      nameOf(node) === name,
  );
  const [twin] = twins;
  return twins.length === 1 ? tab.refs.number(twin!.ref!, role, name) : undefined;
}

/**
 * Finds the element of a ref. Rejects with a 400 for an invalid ref, with a 404 at once for a stale one, with a 504 if
 * the page does not respond.
 */
export async function findElement(
  tab: Tab,
  ref: unknown,
  needs: ProbeNeeds,
  timeoutMs: number,
  param = "ref",
): Promise<ProbedElement> {
  const entry = tab.refs.find(ref, param);
  const locator = locatorOf(tab.page, entry.native);
  const probe = await withTimeout(
    timeoutMs,
    "The search for the element",
    probeLocator(locator, needs, timeoutMs),
    errors.pageSilent,
  ).catch((error: unknown) => {
    throw toPublicError(error, "The search for the element");
  });
  if (probe === undefined) throw await staleRefError(tab, entry, param);
  return { entry, locator, probe };
}

/**
 * Waits until nothing obstructs an element and returns it. Rejects with a 422 that gives the reason if it stays
 * obstructed.
 */
export async function findUnobstructed(trial: Omit<Trial, "work">): Promise<ProbedElement> {
  const { tab, ref, needs, what, timeoutMs, isExplicit, param } = trial;
  const start = Date.now();
  const patience = isExplicit ? timeoutMs : Math.min(timeoutMs, PATIENCE_MS);
  let obstacleError: PorticoError | undefined;
  for (;;) {
    const search = findElement(
      tab,
      ref,
      { ...needs, scroll: true },
      remainingMs(start, timeoutMs),
      param,
    );
    // The last probe may run out of time; then the result of the one before is reported.
    const element = await search.catch((error: PorticoError) => {
      throw error.code === "timeout" ? (obstacleError ?? error) : error;
    });
    const reason = findObstacle(element.probe, needs);
    if (reason === undefined) return element;
    obstacleError = errors.elementHindered(
      { what, element: describeElement(element.entry), reason },
      { details: { ref: `e${element.entry.n}` } },
    );
    if (Date.now() - start >= patience) throw obstacleError;
    await pause(50);
  }
}

/** Builds the common part of most actions' attempts: the element of `ref`, within the action's timeout. */
export const trialOf = ({
  tab,
  input,
  timeoutMs,
  isExplicit,
}: Act): Omit<Trial, "needs" | "what" | "work"> => ({
  tab,
  ref: input.ref as unknown,
  timeoutMs,
  isExplicit,
});

/**
 * Tries the action while watching the element: a stale ref ends it at once, an obstacle after a moment. A successful
 * action costs little more than the action itself. If it fails, rejects soon with a 422 `action_failed` that gives the
 * reason, instead of a late 504.
 */
export async function tryOn(trial: Trial): Promise<unknown> {
  const { tab, what, timeoutMs } = trial;
  const param = trial.param ?? "ref";
  const entry = tab.refs.find(trial.ref, param);
  const locator = locatorOf(tab.page, entry.native);
  const start = Date.now();
  const watch = new ElementWatch(locator, trial);
  const work = async (): Promise<unknown> => {
    try {
      return await trial.work(locator, { timeout: timeoutMs, signal: watch.signal });
    } catch (error) {
      if (!watch.usesLabel || !trial.byLabel) throw error;
      const limits = {
        timeout: remainingMs(start, timeoutMs),
        signal: AbortSignal.timeout(timeoutMs),
      };
      return trial.byLabel(createLabelClick(tab, locator, limits), locator, limits);
    }
  };
  try {
    return await withTimeout(timeoutMs + 500, what, work());
  } catch (error) {
    const replacement = await findReplacement(trial, entry, watch, error);
    if (replacement !== undefined) {
      const timeoutMs = remainingMs(start, trial.timeoutMs);
      return tryOn({ ...trial, ref: replacement, timeoutMs, followsRedraw: false });
    }
    // If the element disappeared as the action began, either the watch or the library may notice first.
    const isDetached = DETACHED.test(String((error as Error).message));
    if (watch.isGone || (isDetached && !(await attempt(500, isPresent(locator), true))))
      throw await staleRefError(tab, entry, param);
    throw await explainFailure(trial, entry, locator, error, watch.signal.aborted);
  } finally {
    watch.end();
  }
}

/** Returns the ref of the element that replaced one that disappeared before the action reached it. */
async function findReplacement(
  { tab, followsRedraw }: Trial,
  entry: RefEntry,
  { isGone }: ElementWatch,
  error: unknown,
): Promise<number | undefined> {
  // If the element was missing from the start, the caller must find it.
  const wasThere = readCallLog(error).some((line) => line.startsWith("locator resolved to"));
  if (!followsRedraw || !isGone || !wasThere || progressOf(error) !== "waiting") return undefined;
  return replacementOf(tab, entry);
}

const WRONG_KIND =
  /not an? <?(input|select|textarea)|not a checkbox|not have a role allowing|Input of type|Malformed value|Cannot type text/i;

const NOT_A_SELECT = /not a <?select/i;
const CUSTOM_LIST_HINT =
  "it is not a <select>, but a list that the page draws itself. Click the element, take a snapshot, and click the option.";

const PAST_OBSTACLE = "the element could not be operated for some time, but now it can. Try again.";

async function explainFailure(
  trial: Trial,
  entry: RefEntry,
  locator: Locator,
  error: unknown,
  isAborted: boolean,
): Promise<PorticoError> {
  const { tab, needs, what, timeoutMs } = trial;
  const options = { details: { ref: `e${entry.n}` }, cause: error };
  const element = describeElement(entry);
  if (!isAborted && !isTimeout(error)) {
    const message = String((error as Error).message);
    if (!WRONG_KIND.test(message)) return toPublicError(error, what);
    const reason = NOT_A_SELECT.test(message) ? CUSTOM_LIST_HINT : summarizeError(error);
    return errors.valueOfWrongKind({ what, element, reason }, options);
  }
  const laterProbe = await attempt<Probe | "gone" | "silent">(
    500,
    probeLocator(locator, { ...needs, scroll: true }, 500).then((probe) => probe ?? "gone"),
    "silent",
  );
  if (laterProbe === "gone") return staleRefError(tab, entry, trial.param ?? "ref");
  const isSilent = laterProbe === "silent";
  // A page that is too busy to respond now may have reported the reason before.
  const reason =
    (isSilent ? undefined : findObstacle(laterProbe, needs)) ??
    findObstacleInLog(readCallLog(error));
  if (reason !== undefined) return errors.elementHindered({ what, element, reason }, options);
  if (isSilent) return errors.pageSilent({ what, ms: timeoutMs }, options);
  // The watch aborted the action because of an obstacle that is gone by now.
  if (isAborted) return errors.timedOutBecause({ what, reason: PAST_OBSTACLE }, options);
  return errors.timedOut({ what, ms: timeoutMs }, options);
}
