/** What the table of the console's pages consists of. */
import type { Locator, Page } from "playwright-core";
import type { Setting, Visitor } from "../support.ts";

export interface PageRow {
  /** The name in the navigation, or in the test's output for a page that is not in it. */
  title: string;
  /** The address without `#/`: a page, or an entry of one. A function reads what it needs from the gateway. */
  path: string | ((setting: Setting) => Promise<string>);
  /** What is visible once the page is there. */
  shows: (page: Page) => Locator;
  /**
   * Changes something through the page, and awaits that the gateway has the change. Each size and theme has a gateway of
   * its own, so nothing needs to be undone. Absent where the page has nothing to change.
   */
  change?: (visitor: Visitor, setting: Setting) => Promise<void>;
}
