/** What it takes to try an action on an element. */
import type { Locator } from "../drivers/playwright.ts";
import type { ProbeNeeds } from "../tab/page-scripts.ts";
import type { Tab } from "../tab/tab.ts";

export interface Limits {
  timeout: number;
  signal: AbortSignal;
}

/** Clicks the label of an element, with the other options of a click. Throws if something covers it. */
export type ClickLabel = (options?: Parameters<Locator["click"]>[0]) => Promise<void>;

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
  /** Where the page draws the element again before it could be pressed, the new one is meant. */
  followsRedraw?: boolean;
  /** The action; it ends when the signal does. */
  work(locator: Locator, limits: Limits): Promise<unknown>;
  /** The same by the element's label, where the element itself is out of reach. */
  byLabel?(click: ClickLabel, locator: Locator, limits: Limits): Promise<unknown>;
}
