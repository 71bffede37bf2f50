/** The parameters of an attempt at an action on an element. */
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
  /** The action as the beginning of a sentence: "The click". */
  what: string;
  timeoutMs: number;
  /** True if the caller set the timeout, which is then fully used. */
  isExplicit: boolean;
  param?: string;
  /** If the page re-renders the element before the action reaches it, the action is tried on the new one. */
  followsRedraw?: boolean;
  /** Performs the action. It must end when the signal is aborted. */
  work(locator: Locator, limits: Limits): Promise<unknown>;
  /** Performs the action by the element's label, if the element itself cannot be reached. */
  byLabel?(click: ClickLabel, locator: Locator, limits: Limits): Promise<unknown>;
}
