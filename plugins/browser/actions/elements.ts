/** From a ref to an element that an action can be tried on, and from a failed try to the reason. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { attempt, remainingMs, pause, within } from "../deadline.ts";
import { callLog, failure, headline, isTimeout, plainText } from "../failures.ts";
import type { Probe, ProbeNeeds } from "../tab/page-scripts.ts";
import type { Locator } from "../drivers/playwright.ts";
import { locatorOf } from "../snapshot/hidden-boxes.ts";
import type { RefEntry } from "../snapshot/refs.ts";
import { labelClick } from "./by-label.ts";
import { progressOf } from "./clicking.ts";
import { ElementWatch, PATIENCE_MS } from "./element-watch.ts";
import { hindrance, hindranceInLog } from "./hindrance.ts";
import { DETACHED, isThere, look } from "./looking.ts";
import type { Trial } from "./trial.ts";
import { everyNode } from "../snapshot/aria-node.ts";
import { readAria } from "../snapshot/operable.ts";
import { nameOf } from "../snapshot/names.ts";
import type { Tab } from "../tab/tab.ts";
import type { Act } from "./types.ts";

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
  const fresh = quick ? attempt(CANDIDATES_MS, readAria(tab), undefined) : undefined;
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

/** 404 for a ref whose element no longer exists, with the elements of the same role and name, or of the same role. */
async function stale(tab: Tab, entry: RefEntry, param: string): Promise<PorticoError> {
  const candidates = await lookAlikes(tab, entry);
  const hint =
    candidates.length > 0 ? ` It may be ${candidates.map(({ ref }) => ref).join(" or ")} now.` : "";
  return errors.staleRef(
    {
      ref: entry.n,
      element: `${entry.role}${entry.name ? ` "${plainText(entry.name).slice(0, 60)}"` : ""}`,
      hint,
    },
    { param, details: { ref: `e${entry.n}`, candidates } },
  );
}

/** A page that draws an element again has done so within this. */
const REDRAW_MS = 2_000;

/** The number of the element that took the place of another: the only new one of its role and name. */
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
    "The search for the element (the page does not respond)",
    look(locator, needs, timeoutMs),
  ).catch((error: unknown) => {
    throw failure(error, "The search for the element");
  });
  if (found === undefined) throw await stale(tab, entry, param);
  return { entry, locator, probe: found };
}

/** Finds an element once nothing covers it. 422 with the reason if it stays covered. */
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
      remainingMs(start, timeoutMs),
      param,
    );
    // The last look may have no time left: what the one before has seen counts.
    const found = await looking.catch((error: PorticoError) => {
      throw error.code === "timeout" ? (hindered ?? error) : error;
    });
    const reason = hindrance(found.probe, needs);
    if (reason === undefined) return found;
    hindered = errors.elementHindered(
      { what, element: spoken(found.entry), reason },
      { details: { ref: `e${found.entry.n}` } },
    );
    if (Date.now() - start >= patience) throw hindered;
    await pause(50);
  }
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
      if (!watch.goesByLabel || !trial.byLabel) throw error;
      const limits = {
        timeout: remainingMs(start, timeoutMs),
        signal: AbortSignal.timeout(timeoutMs),
      };
      return trial.byLabel(labelClick(tab, locator, limits), locator, limits);
    }
  };
  try {
    return await within(timeoutMs + 500, what, work());
  } catch (error) {
    const next = await redrawn(trial, entry, watch, error);
    if (next !== undefined) {
      const timeoutMs = remainingMs(start, trial.timeoutMs);
      return tryOn({ ...trial, ref: next, timeoutMs, followsRedraw: false });
    }
    // Where the element went away while the action began, either may be the first to notice.
    const isLost = DETACHED.test(String((error as Error).message));
    if (watch.gone || (isLost && !(await attempt(500, isThere(locator), true))))
      throw await stale(tab, entry, param);
    throw await whyNot(trial, entry, locator, error, watch.signal.aborted);
  } finally {
    watch.end();
  }
}

/** The element that took the place of one that went away before the action could be done on it. */
async function redrawn(
  { tab, followsRedraw }: Trial,
  entry: RefEntry,
  { gone }: ElementWatch,
  error: unknown,
): Promise<number | undefined> {
  // One that was not there at the start is for the caller to look for.
  const wasThere = callLog(error).some((line) => line.startsWith("locator resolved to"));
  if (!followsRedraw || !gone || !wasThere || progressOf(error) !== "waiting") return undefined;
  return replacementOf(tab, entry);
}

const NOT_ITS_KIND =
  /not an? <?(input|select|textarea)|not a checkbox|not have a role allowing|Input of type|Malformed value|Cannot type text/i;

const NO_LIST = /not a <?select/i;
const DRAWN_LIST =
  "it is not a <select>, because the page draws its own list. Click the element, take a snapshot, and click the option.";

async function whyNot(
  trial: Trial,
  entry: RefEntry,
  locator: Locator,
  error: unknown,
  stopped: boolean,
): Promise<PorticoError> {
  const { tab, needs, what, timeoutMs } = trial;
  const options = { details: { ref: `e${entry.n}` }, cause: error };
  const element = spoken(entry);
  if (!stopped && !isTimeout(error)) {
    const message = String((error as Error).message);
    if (!NOT_ITS_KIND.test(message)) return failure(error, what);
    const reason = NO_LIST.test(message) ? DRAWN_LIST : headline(error);
    return errors.notItsKind({ what, element, reason }, options);
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
  if (reason !== undefined) return errors.elementHindered({ what, element, reason }, options);
  return isSilent
    ? errors.pageSilent({ what, ms: timeoutMs }, options)
    : errors.lateBecause({ what, reason: headline(error) }, options);
}
