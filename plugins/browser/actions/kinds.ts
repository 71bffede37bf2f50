/** The kinds of `/act`. Each one's fields are those of its schema; time limits are in milliseconds. */
import { Type } from "portico";
import { errors } from "../errors.ts";
import { remainingMs, pause, within } from "../deadline.ts";
import { batch } from "./batch.ts";
import { setByLabel } from "./by-label.ts";
import { choose } from "./choose.ts";
import { press } from "./clicking.ts";
import { pressKey, type } from "./keyboard.ts";
import { pageFunction, plainResult } from "./page-function.ts";
import type { Act, Kind } from "./types.ts";
import { CLICKED, findFree, NOTHING, POINTED, SEEN, trial, tryOn } from "./elements.ts";
import type { ClickLabel, Limits, Trial } from "./trial.ts";
import type { Tab } from "../tab/tab.ts";
import type { Locator } from "../drivers/playwright.ts";
import { refNumber } from "../snapshot/refs.ts";
import { type Field, fillOne } from "./fill.ts";
import { runWait } from "./wait.ts";
import { uploadTo } from "./uploads.ts";

const ref = Type.Union([Type.Integer({ minimum: 1 }), Type.String({ minLength: 1 })]);
const modifiers = Type.Array(
  Type.Union(
    (["Alt", "Control", "ControlOrMeta", "Meta", "Shift"] as const).map((one) => Type.Literal(one)),
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
/** Pages that sort by pointer take a drag for one after some pixels, and follow the moves after that. */
const DRAG_STEPS = 10;
/** Lists that can also be scrolled take a drag for one only after the element was held (a quarter of a second, mostly). */
const HOLD_MS = 350;

const needsEvaluate = ({ op }: Act, what: string): void => {
  if (op.config.evaluateEnabled) return;
  throw errors.evaluateDisabled({ what });
};

/** A person's finger rests on a place before it lets go; pages that sort look where it rests. */
const REST_MS = 50;

/** Where the goal is once it is in sight. */
async function goalBox(to: Locator, limits: Limits): Promise<Size & { x: number; y: number }> {
  await to.scrollIntoViewIfNeeded(limits);
  const box = await to.boundingBox(limits);
  if (box !== null) return box;
  throw errors.dragGoalHidden();
}

/** Presses, holds, and moves on: what wants to be held first is dragged by nothing else. */
async function dragHeld(
  { page }: Tab,
  from: Locator,
  to: Locator,
  holdMs: number,
  limits: Limits,
): Promise<void> {
  // The library judges whether the element can be pressed, as before any other action.
  await from.hover(limits);
  await page.mouse.down();
  try {
    await pause(holdMs);
    const { x, y, width, height } = await goalBox(to, limits);
    await page.mouse.move(x + width / 2, y + height / 2, { steps: DRAG_STEPS });
    await pause(REST_MS);
  } finally {
    await page.mouse.up();
  }
}

/** The field that a click lacks. */
function missingPlace({ ref: element, x }: Act["input"]): string {
  if (element === undefined && x === undefined) return "ref";
  return x === undefined ? "x" : "y";
}

/** At a place of the page where no element is named; relative to the element otherwise. */
async function click(act: Act): Promise<void> {
  const { tab, input } = act;
  const { x, y, doubleClick, button: which, modifiers: held = [] } = input;
  if ((x === undefined) !== (y === undefined) || (input.ref === undefined && x === undefined))
    throw errors.clickWithoutPlace({ param: missingPlace(input) });
  const options = { ...(which && { button: which }), ...(held.length > 0 && { modifiers: held }) };
  if (input.ref === undefined) return clickAt(act, x, y);
  const place = x === undefined ? {} : { position: { x, y } };
  await tryOn({
    ...trial(act),
    // The middle of the element may be covered where another place of it is not.
    needs: x === undefined ? CLICKED : { ...CLICKED, hit: false },
    what: "The click",
    followsRedraw: true,
    work: (locator, limits) =>
      press(tab, limits, (within) =>
        doubleClick
          ? locator.dblclick({ ...options, ...place, ...within })
          : locator.click({ ...options, ...place, ...within }),
      ),
    ...(x === undefined && {
      byLabel: (clickLabel: ClickLabel) =>
        clickLabel({ ...options, clickCount: doubleClick ? 2 : 1 }),
    }),
  });
}

/** 422 for a place that is out of sight: nothing would be clicked. */
async function clickAt({ tab, input, timeoutMs }: Act, x: number, y: number): Promise<void> {
  const { doubleClick, button: which, modifiers: held = [] } = input;
  const { page } = tab;
  const work = async (): Promise<void> => {
    const size = (await page.evaluate("({ width: innerWidth, height: innerHeight })")) as Size;
    if (x >= size.width || y >= size.height)
      throw errors.placeOutside({ x, y, ...size }, { param: x >= size.width ? "x" : "y" });
    for (const key of held) await page.keyboard.down(key);
    try {
      await page.mouse.click(x, y, { button: which ?? "left", clickCount: doubleClick ? 2 : 1 });
    } finally {
      for (const key of held) await page.keyboard.up(key);
    }
  };
  await within(timeoutMs, "The click (the page does not respond)", work());
}

async function drag({ tab, input, timeoutMs, explicit }: Act): Promise<undefined> {
  const start = Date.now();
  const shared = { tab, explicit, needs: POINTED, what: "The drag" };
  const goal = await findFree({ ...shared, ref: input.endRef, param: "endRef", timeoutMs });
  // A ref that is stale has been refused by now: the two may be equal because they are from different snapshots.
  if (refNumber(input.startRef) === refNumber(input.endRef))
    throw errors.dragOntoItself({ param: "endRef" });
  await tryOn({
    ...shared,
    ref: input.startRef,
    param: "startRef",
    timeoutMs: remainingMs(start, timeoutMs),
    work: (locator, limits) =>
      dragHeld(tab, locator, goal.locator, input.holdMs ?? HOLD_MS, limits),
  });
  return undefined;
}

/** Fills fields one after the other; answers those of which the page made another value. */
async function fill(act: Act): Promise<unknown> {
  const start = Date.now();
  const changed: { ref: unknown; value: string }[] = [];
  for (const [index, field] of (act.input.fields as Field[]).entries()) {
    const timeoutMs = remainingMs(start, act.timeoutMs);
    const value = await fillOne({ ...act, timeoutMs }, field, index);
    if (value !== undefined) changed.push({ ref: field.ref, value });
  }
  return changed.length === 0 ? undefined : { fields: changed };
}

async function select(act: Act): Promise<unknown> {
  const work = choose(act.input.values as string[], act.explicit);
  return tryOn({ ...trial(act), needs: { ...SEEN, enabled: true }, what: "The selection", work });
}

const setChecked =
  (checked: boolean) =>
  async (act: Act): Promise<undefined> => {
    await tryOn({
      ...trial(act),
      needs: { ...CLICKED, visible: false },
      what: checked ? "The check" : "The uncheck",
      followsRedraw: true,
      work: (locator, limits) => locator.setChecked(checked, limits),
      byLabel: (click, locator, limits) => setByLabel(checked, click, locator, limits),
    });
    return undefined;
  };

async function evaluate(act: Act): Promise<unknown> {
  needsEvaluate(act, "evaluate");
  const { tab, input, timeoutMs } = act;
  const fn = pageFunction(input.fn, "element");
  if (input.ref === undefined)
    return plainResult(await within(timeoutMs, "The evaluation", tab.page.evaluate(fn as never)));
  const result = await tryOn({
    ...trial(act),
    needs: NOTHING,
    what: "The evaluation",
    work: (locator, limits) => locator.evaluate(fn as never, undefined, limits),
  });
  return plainResult(result);
}

const ok =
  (work: (act: Act) => Promise<unknown>) =>
  async (act: Act): Promise<undefined> => {
    await work(act);
    return undefined;
  };

/** A kind that needs nothing but an element. */
const onElement = (tried: Pick<Trial, "needs" | "what" | "work">): Kind => ({
  schema: Type.Object({ ref }),
  timeoutMs: ACTION_MS,
  queued: true,
  run: ok((act) => tryOn({ ...trial(act), ...tried })),
});

/** Name → kind, in the order in which help lists them. */
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
    queued: true,
    run: ok(click),
  },
  type: {
    schema: Type.Object({
      ref: optional(ref),
      text: Type.String(),
      submit: optional(Type.Boolean()),
      slowly: optional(Type.Boolean()),
    }),
    timeoutMs: ACTION_MS,
    queued: true,
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
    queued: true,
    run: fill,
  },
  press: {
    schema: Type.Object({ key: Type.String({ minLength: 1 }), ref: optional(ref) }),
    timeoutMs: ACTION_MS,
    queued: true,
    run: pressKey,
  },
  hover: onElement({
    needs: POINTED,
    what: "The hover",
    work: (locator, limits) => locator.hover(limits),
  }),
  scrollIntoView: onElement({
    needs: SEEN,
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
    queued: true,
    run: drag,
  },
  select: {
    schema: Type.Object({ ref, values: Type.Array(Type.String(), { maxItems: 1000 }) }),
    timeoutMs: ACTION_MS,
    queued: true,
    run: select,
  },
  check: {
    schema: Type.Object({ ref }),
    timeoutMs: ACTION_MS,
    queued: true,
    run: setChecked(true),
  },
  uncheck: {
    schema: Type.Object({ ref }),
    timeoutMs: ACTION_MS,
    queued: true,
    run: setChecked(false),
  },
  upload: {
    schema: Type.Object({ ref, paths: Type.Array(Type.String(), { minItems: 1, maxItems: 50 }) }),
    timeoutMs: 20_000,
    queued: true,
    run: ok((act) =>
      uploadTo(act.op, act.tab, act.input.ref, act.input.paths, act.timeoutMs, act.explicit),
    ),
  },
  resize: {
    schema: Type.Object({
      width: Type.Integer({ minimum: 1, maximum: 10_000 }),
      height: Type.Integer({ minimum: 1, maximum: 10_000 }),
    }),
    timeoutMs: ACTION_MS,
    queued: true,
    run: ok(({ tab, input, timeoutMs }) =>
      within(
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
    queued: false,
    async run(act) {
      if (act.input.fn !== undefined) needsEvaluate(act, "wait.fn");
      const { timeMs } = act.input;
      await runWait(
        act.tab,
        act.input,
        timeMs === undefined || act.explicit ? act.timeoutMs : act.timeoutMs + timeMs,
      );
      return undefined;
    },
  },
  evaluate: {
    schema: Type.Object({ fn: Type.String({ minLength: 1 }), ref: optional(ref) }),
    timeoutMs: 20_000,
    queued: false,
    run: evaluate,
  },
  batch: {
    schema: Type.Object({
      actions: Type.Array(Type.Object({ kind: Type.String() }), { minItems: 1, maxItems: 100 }),
      stopOnError: optional(Type.Boolean()),
    }),
    timeoutMs: 60_000,
    queued: true,
    run: batch,
  },
  close: {
    schema: Type.Object({}),
    timeoutMs: ACTION_MS,
    queued: false,
    run: ok(async ({ op, tab, timeoutMs }) => {
      await within(
        timeoutMs,
        "Closing the tab",
        op.session.cdp.send("Target.closeTarget", { targetId: tab.targetId }),
      );
      for (let i = 0; i < 50 && !tab.closed; i++) await pause(10);
    }),
  },
};
