/** The dashboard as a person sees it, in a real browser: all parts on one gateway and in one browser. */
import { suite } from "../../support/suite.ts";
import { openBrowser, type Setting, startFilled, tests } from "./support.ts";
import "./page-sections.ts";
import "./page-further.ts";
import "./page-readable.ts";
import "./page-switches.ts";
import "./page-unsteady.ts";

const dashboard = suite<Setting>("dashboard");
dashboard.before(async (setting) => {
  [setting.gateway, setting.chromium] = await Promise.all([startFilled(), openBrowser()]);
});
dashboard.after(async ({ gateway, chromium }) => {
  await chromium?.close();
  await gateway?.stop();
});

for (const { name, steps } of tests) dashboard(name, steps);
dashboard.run();
