/** The polls' parts on a given store, with cron's schedule tools and an agent that only makes items. */
import type { PluginContext } from "portico";
import type { Store } from "../../../plugins/store/types.ts";
import { createScheduleTools } from "../../../plugins/cron/tools.ts";
import { PollEntries } from "../../../plugins/polls/entries.ts";
import { PollRunner } from "../../../plugins/polls/checking/runner.ts";
import type { PollsConfig } from "../../../plugins/polls/schema.ts";
import { createContext } from "../../support/plugin-context.ts";

const settings: PollsConfig = {
  enabled: true,
  allowPrivateNetwork: false,
  allowedHostnames: [],
  hostnameAllowlist: [],
  roots: [],
  maxConcurrent: 8,
  maxItems: 1_000,
  maxBytes: 5_000_000,
  timeoutMs: 10_000,
  keepRuns: 100,
  settleMs: 0,
  entries: {},
};

export async function makePolls(
  store: Store,
  workspace: string,
  { leaseMs }: { leaseMs?: number } = {},
) {
  const { ctx: base, bus } = createContext(store);
  for (const name of ["poll:changed", "poll:failed"] as const)
    bus.declare(name, { mode: "notify", description: "", sample: {} as never });
  const ctx = {
    ...base,
    name: "polls",
    paths: { workspace },
    ports: () => [],
    use: (name: "store") =>
      (name as string) === "schedule" ? { load: async () => tools } : base.use(name),
    signal: new AbortController().signal,
  } as unknown as PluginContext;
  const tools = createScheduleTools(ctx, () => "UTC");
  const entries = new PollEntries({ ctx, tools, settings: () => settings, changed: () => {} });
  const runner = new PollRunner({ ctx, tools, settings: () => settings, leaseMs });
  return { ctx, bus, entries, runner };
}
