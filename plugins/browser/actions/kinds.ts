/** The kinds of `/act`. The schema of each kind declares its fields; timeouts are in milliseconds. */
import { Type } from "portico";
import { errors } from "../errors.ts";
import { remainingMs, pause, withTimeout } from "../deadline.ts";
import { batch } from "./batch.ts";
import { setByLabel } from "./by-label.ts";
import { selectOptions } from "./choose.ts";
import { press } from "./clicking.ts";
import { pressKey, type } from "./keyboard.ts";
import { compilePageFunction, toJsonResult } from "./page-function.ts";
import type { Act, Kind } from "./types.ts";
import {
  NEEDS_CLICKABLE,
  findUnobstructed,
  NO_NEEDS,
  NEEDS_UNCOVERED,
  NEEDS_VISIBLE,
  trialOf,
  tryOn,
} from "./elements.ts";
import type { ClickLabel, Limits, Trial } from "./trial.ts";
import type { Tab } from "../tab/tab.ts";
import type { Locator } from "../drivers/playwright.ts";
import { refNumber } from "../snapshot/refs.ts";
import { type Field, fillField } from "./fill.ts";
import { runWait } from "./wait.ts";
import { uploadTo } from "./uploads.ts";

const ref = Type.Union([Type.Integer({ minimum: 1 }), Type.String({ minLength: 1 })]);
const modifiers = Type.Array(
  Type.Union(
    (["Alt", "Control", "ControlOrMeta", "Meta", "Shift"] as const).map((name) =>
      Type.Literal(name),
    ),
  ),
);
const button = Type.Union([Type.Literal("left"), Type.Literal("right"), Type.Literal("middle")]);
const optional = Type.Optional;

const coordinate = Type.Number({ minimum: 0, maximum: 100_000 });

interface Size {
  width: number;
  height: number;
}

const ACTION_MS = 8_000;
/**
 * The number of pointer moves. Pages that sort by pointer detect a drag after some pixels and follow the later moves.
 */
const DRAG_STEPS = 10;
/**
 * The time in ms to hold the element. Scrollable lists detect a drag only after a while (a quarter of a second in most
 * cases).
 */
const HOLD_MS = 350;

const requireEvaluate = ({ op }: Act, what: string): void => {
  if (op.config.evaluateEnabled) return;
  throw errors.evaluateDisabled({ what });
};

/**
 * The pause in ms before the release: a user's finger rests before it is lifted, and sortable lists check where it
 * rests.
 */
const REST_MS = 50;

/** Scrolls the target of a drag into view and returns its box. */
async function showTarget(to: Locator, limits: Limits): Promise<Size & { x: number; y: number }> {
  await to.scrollIntoViewIfNeeded(limits);
  const box = await to.boundingBox(limits);
  if (box !== null) return box;
  throw errors.dragGoalHidden();
}

/** Presses, holds, and then moves, since some elements can only be dragged after they have been held. */
async function dragAfterHold(
  { page }: Tab,
  from: Locator,
  to: Locator,
  holdMs: number,
  limits: Limits,
): Promise<void> {
  // Hovering lets the library check that the element can be pressed, as before any other action.
  await from.hover(limits);
  await page.mouse.down();
  try {
    await pause(holdMs);
    const { x, y, width, height } = await showTarget(to, limits);
    await page.mouse.move(x + width / 2, y + height / 2, { steps: DRAG_STEPS });
    await pause(REST_MS);
  } finally {
    await page.mouse.up();
  }
}

/** Returns the name of the field that is missing in a click. */
function missingField({ ref: element, x }: Act["input"]): string {
  if (element === undefined && x === undefined) return "ref";
  return x === undefined ? "x" : "y";
}

/**
 * Clicks an element, or at a position of the page if no element is named. With an element, the position is relative to
 * it.
 */
async function click(act: Act): Promise<void> {
  const { tab, input } = act;
  const { x, y, doubleClick, button: mouseButton, modifiers: modifierKeys = [] } = input;
  if ((x === undefined) !== (y === undefined) || (input.ref === undefined && x === undefined))
    throw errors.clickWithoutPlace({ param: missingField(input) });
  const options = {
    ...(mouseButton && { button: mouseButton }),
    ...(modifierKeys.length > 0 && { modifiers: modifierKeys }),
  };
  if (input.ref === undefined) return clickAt(act, x, y);
  const position = x === undefined ? {} : { position: { x, y } };
  await tryOn({
    ...trialOf(act),
    // The middle of the element may be covered although this position is not.
    needs: x === undefined ? NEEDS_CLICKABLE : { ...NEEDS_CLICKABLE, hit: false },
    what: "The click",
    followsRedraw: true,
    work: (locator, limits) =>
      press(tab, limits, (pressLimits) =>
        doubleClick
          ? locator.dblclick({ ...options, ...position, ...pressLimits })
          : locator.click({ ...options, ...position, ...pressLimits }),
      ),
    ...(x === undefined && {
      byLabel: (clickLabel: ClickLabel) =>
        clickLabel({ ...options, clickCount: doubleClick ? 2 : 1 }),
    }),
  });
}

/**
 * Clicks at a position of the viewport. Rejects with a 422 for a position outside it, where a click would have no
 * effect.
 */
async function clickAt({ tab, input, timeoutMs }: Act, x: number, y: number): Promise<void> {
  const { doubleClick, button: mouseButton, modifiers: modifierKeys = [] } = input;
  const { page } = tab;
  const work = async (): Promise<void> => {
    const size = (await page.evaluate("({ width: innerWidth, height: innerHeight })")) as Size;
    if (x >= size.width || y >= size.height)
      throw errors.placeOutside({ x, y, ...size }, { param: x >= size.width ? "x" : "y" });
    for (const key of modifierKeys) await page.keyboard.down(key);
    try {
      await page.mouse.click(x, y, {
        button: mouseButton ?? "left",
        clickCount: doubleClick ? 2 : 1,
      });
    } finally {
      for (const key of modifierKeys) await page.keyboard.up(key);
    }
  };
  await withTimeout(timeoutMs, "The click", work(), errors.pageSilent);
}

async function drag({ tab, input, timeoutMs, isExplicit }: Act): Promise<undefined> {
  const start = Date.now();
  const shared = { tab, isExplicit, needs: NEEDS_UNCOVERED, what: "The drag" };
  const target = await findUnobstructed({
    ...shared,
    ref: input.endRef,
    param: "endRef",
    timeoutMs,
  });
  // A stale ref has been rejected by now: equal numbers could come from different snapshots.
  if (refNumber(input.startRef) === refNumber(input.endRef))
    throw errors.dragOntoItself({ param: "endRef" });
  await tryOn({
    ...shared,
    ref: input.startRef,
    param: "startRef",
    timeoutMs: remainingMs(start, timeoutMs),
    work: (locator, limits) =>
      dragAfterHold(tab, locator, target.locator, input.holdMs ?? HOLD_MS, limits),
  });
  return undefined;
}

/** Fills fields one after the other. Returns those whose value the page changed. */
async function fill(act: Act): Promise<unknown> {
  const start = Date.now();
  const changed: { ref: unknown; value: string }[] = [];
  for (const [index, field] of (act.input.fields as Field[]).entries()) {
    const timeoutMs = remainingMs(start, act.timeoutMs);
    const value = await fillField({ ...act, timeoutMs }, field, index);
    if (value !== undefined) changed.push({ ref: field.ref, value });
  }
  return changed.length === 0 ? undefined : { fields: changed };
}

async function select(act: Act): Promise<unknown> {
  const work = selectOptions(act.input.values as string[], act.isExplicit);
  return tryOn({
    ...trialOf(act),
    needs: { ...NEEDS_VISIBLE, enabled: true },
    what: "The selection",
    work,
  });
}

const setChecked =
  (checked: boolean) =>
  async (act: Act): Promise<undefined> => {
    await tryOn({
      ...trialOf(act),
      needs: { ...NEEDS_CLICKABLE, visible: false },
      what: checked ? "The check" : "The uncheck",
      followsRedraw: true,
      work: (locator, limits) => locator.setChecked(checked, limits),
      byLabel: (click, locator, limits) => setByLabel(checked, click, locator, limits),
    });
    return undefined;
  };

async function evaluate(act: Act): Promise<unknown> {
  requireEvaluate(act, "evaluate");
  const { tab, input, timeoutMs } = act;
  const fn = compilePageFunction(input.fn, "element");
  if (input.ref === undefined)
    return toJsonResult(
      await withTimeout(timeoutMs, "The evaluation", tab.page.evaluate(fn as never)),
    );
  const result = await tryOn({
    ...trialOf(act),
    needs: NO_NEEDS,
    what: "The evaluation",
    work: (locator, limits) => locator.evaluate(fn as never, undefined, limits),
  });
  return toJsonResult(result);
}

const withoutResult =
  (work: (act: Act) => Promise<unknown>) =>
  async (act: Act): Promise<undefined> => {
    await work(act);
    return undefined;
  };

/** Builds a kind whose only field is the element. */
const onElement = (definition: Pick<Trial, "needs" | "what" | "work">): Kind => ({
  schema: Type.Object({ ref }),
  timeoutMs: ACTION_MS,
  isQueued: true,
  run: withoutResult((act) => tryOn({ ...trialOf(act), ...definition })),
});

/** Maps names to kinds, in the order in which help lists them. */
export const KINDS: Record<string, Kind> = {
  click: {
    schema: Type.Object({
      ref: optional(ref),
      x: optional(coordinate),
      y: optional(coordinate),
      doubleClick: optional(Type.Boolean()),
      button: optional(button),
      modifiers: optional(modifiers),
    }),
    timeoutMs: ACTION_MS,
    isQueued: true,
    run: withoutResult(click),
  },
  type: {
    schema: Type.Object({
      ref: optional(ref),
      text: Type.String(),
      submit: optional(Type.Boolean()),
      slowly: optional(Type.Boolean()),
    }),
    timeoutMs: ACTION_MS,
    isQueued: true,
    run: type,
  },
  fill: {
    schema: Type.Object({
      fields: Type.Array(
        Type.Object({
          ref,
          type: optional(Type.String()),
          value: optional(
            Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Array(Type.String())]),
          ),
        }),
        { minItems: 1, maxItems: 200 },
      ),
    }),
    timeoutMs: 20_000,
    isQueued: true,
    run: fill,
  },
  press: {
    schema: Type.Object({ key: Type.String({ minLength: 1 }), ref: optional(ref) }),
    timeoutMs: ACTION_MS,
    isQueued: true,
    run: pressKey,
  },
  hover: onElement({
    needs: NEEDS_UNCOVERED,
    what: "The hover",
    work: (locator, limits) => locator.hover(limits),
  }),
  scrollIntoView: onElement({
    needs: NEEDS_VISIBLE,
    what: "The scroll",
    work: (locator, limits) => locator.scrollIntoViewIfNeeded(limits),
  }),
  drag: {
    schema: Type.Object({
      startRef: ref,
      endRef: ref,
      holdMs: optional(Type.Integer({ minimum: 0, maximum: 5_000 })),
    }),
    timeoutMs: ACTION_MS,
    isQueued: true,
    run: drag,
  },
  select: {
    schema: Type.Object({ ref, values: Type.Array(Type.String(), { maxItems: 1000 }) }),
    timeoutMs: ACTION_MS,
    isQueued: true,
    run: select,
  },
  check: {
    schema: Type.Object({ ref }),
    timeoutMs: ACTION_MS,
    isQueued: true,
    run: setChecked(true),
  },
  uncheck: {
    schema: Type.Object({ ref }),
    timeoutMs: ACTION_MS,
    isQueued: true,
    run: setChecked(false),
  },
  upload: {
    schema: Type.Object({ ref, paths: Type.Array(Type.String(), { minItems: 1, maxItems: 50 }) }),
    timeoutMs: 20_000,
    isQueued: true,
    run: withoutResult((act) =>
      uploadTo(act.op, act.tab, act.input.ref, act.input.paths, act.timeoutMs, act.isExplicit),
    ),
  },
  resize: {
    schema: Type.Object({
      width: Type.Integer({ minimum: 1, maximum: 10_000 }),
      height: Type.Integer({ minimum: 1, maximum: 10_000 }),
    }),
    timeoutMs: ACTION_MS,
    isQueued: true,
    run: withoutResult(({ tab, input, timeoutMs }) =>
      withTimeout(
        timeoutMs,
        "The resizing",
        tab.page.setViewportSize({ width: input.width, height: input.height }),
      ),
    ),
  },
  wait: {
    schema: Type.Object({
      text: optional(Type.String({ minLength: 1 })),
      textGone: optional(Type.String({ minLength: 1 })),
      url: optional(Type.String({ minLength: 1 })),
      loadState: optional(
        Type.Union([
          Type.Literal("load"),
          Type.Literal("domcontentloaded"),
          Type.Literal("networkidle"),
        ]),
      ),
      fn: optional(Type.String({ minLength: 1 })),
      timeMs: optional(Type.Integer({ minimum: 0, maximum: 600_000 })),
    }),
    timeoutMs: 20_000,
    isQueued: false,
    async run(act) {
      if (act.input.fn !== undefined) requireEvaluate(act, "wait.fn");
      const { timeMs } = act.input;
      await runWait(
        act.tab,
        act.input,
        timeMs === undefined || act.isExplicit ? act.timeoutMs : act.timeoutMs + timeMs,
      );
      return undefined;
    },
  },
  evaluate: {
    schema: Type.Object({ fn: Type.String({ minLength: 1 }), ref: optional(ref) }),
    timeoutMs: 20_000,
    isQueued: false,
    run: evaluate,
  },
  batch: {
    schema: Type.Object({
      actions: Type.Array(Type.Object({ kind: Type.String() }), { minItems: 1, maxItems: 100 }),
      stopOnError: optional(Type.Boolean()),
    }),
    timeoutMs: 60_000,
    isQueued: true,
    run: batch,
  },
  close: {
    schema: Type.Object({}),
    timeoutMs: ACTION_MS,
    isQueued: false,
    run: withoutResult(async ({ op, tab, timeoutMs }) => {
      await withTimeout(
        timeoutMs,
        "Closing the tab",
        op.session.cdp.send("Target.closeTarget", { targetId: tab.targetId }),
      );
      for (let i = 0; i < 50 && !tab.isClosed; i++) await pause(10);
    }),
  },
};
