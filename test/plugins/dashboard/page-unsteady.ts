/** The dashboard with a slow or unreachable gateway, and with unknown entries. */
import { openSection, test, testSignedIn, visitSignedIn } from "./support.ts";

testSignedIn(
  "an interrupted response is reported, and the next complete one shows again",
  async (visitor) => {
    const { page } = visitor;
    await openSection(visitor, "Cron");
    await page.getByRole("link", { name: "tea time" }).waitFor();
    await page.route("**/cron/jobs", (route) =>
      route.fulfill({ contentType: "application/json", body: '{"jobs":[' }),
    );
    await page.getByText("The gateway's response was cut off.").waitFor();
    await page.unroute("**/cron/jobs");
    await page.getByRole("link", { name: "tea time" }).waitFor();
  },
);

test("a gateway that stops responding is reported as that, and is seen to come back", async (at) => {
  const visitor = await visitSignedIn(at);
  const { page } = visitor;
  await openSection(visitor, "Cron");
  await page.getByRole("link", { name: "tea time" }).waitFor();
  // Time is handed on, not waited for.
  await page.clock.install();
  await page.reload();
  await page.getByRole("link", { name: "tea time" }).waitFor();
  const unanswered = new Set<string>();
  await page.route(
    /\/(ready|cron\/jobs)$/,
    (route) => void unanswered.add(new URL(route.request().url()).pathname),
  );
  while (unanswered.size < 2) await page.clock.runFor(1000);
  await page.clock.runFor(30_000);
  await page.getByRole("status").getByText("The gateway does not respond").waitFor();
  await page.getByText("The gateway took too long to respond.").waitFor();
  await page.unrouteAll();
  await page.clock.runFor(5000);
  await page.getByRole("link", { name: "tea time" }).waitFor();
  await page.getByRole("status").getByText("ready", { exact: true }).waitFor();
  await page.context().close();
});

testSignedIn("an address of no page is reported as such", async (visitor, { gateway }) => {
  const { page } = visitor;
  for (const [address, words] of [
    ["#/sessions/%E0%A4", "There is no session %E0%A4."],
    ["#/sessions/nobody", "There is no session nobody."],
    ["#/mapping/constructor", "There is no mapping constructor."],
  ] as const) {
    await page.goto(`${gateway.url}/${address}`);
    await page.getByText(words).waitFor();
  }
});

testSignedIn(
  "an entry that is open does not take the next address for its own while the browser has yet to report it",
  async (visitor) => {
    const { page } = visitor;
    await openSection(visitor, "Deliveries");
    await page.getByRole("link", { name: "wake" }).last().click();
    await page.locator(".detail pre").getByText("Ding").waitFor();
    await page.evaluate(
      `location.hash = "#/gateways"; dispatchEvent(new Event("portico:changed"))`,
    );
    await page.getByRole("cell", { name: /this one/ }).waitFor();
  },
);
