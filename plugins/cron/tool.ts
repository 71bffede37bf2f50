import { type PluginContext, type Principal, type Static, Type } from "portico";
import {
  asBody,
  completeChange,
  entriesOf,
  refuseOthersEntry,
  scheduleFromText,
} from "portico/schedules";
import { errors } from "./errors.ts";
import type { Operations } from "./operations.ts";

const actions = ["list", "add", "show", "edit", "enable", "disable", "run", "runs", "rm"] as const;

const parameters = Type.Object({
  action: Type.Union(actions.map((action) => Type.Literal(action))),
  id: Type.Optional(
    Type.String({ description: "The id or name of the job, for all actions except list and add" }),
  ),
  name: Type.Optional(Type.String()),
  schedule: Type.Optional(
    Type.String({
      description: 'The schedule: "0 9 * * 1-5", "every 30m", "in 20m", or an ISO date',
    }),
  ),
  tz: Type.Optional(
    Type.String({ description: "The IANA time zone of a cron expression or a local date" }),
  ),
  message: Type.Optional(Type.String({ description: "Start an agent turn with this task" })),
  text: Type.Optional(
    Type.String({ description: "Queue this text as an event for the next heartbeat" }),
  ),
  deleteAfterRun: Type.Optional(Type.Boolean()),
});

/** Adds the tool `cron`, with which the agent schedules work. */
export function addTool(ctx: PluginContext, operations: () => Promise<Operations>): void {
  ctx.tool({
    name: "cron",
    description:
      "Schedules work for later: lists, adds, shows, edits, enables, disables, runs and removes scheduled jobs.",
    parameters,
    ownErrors: true,
    handler: async (args, { principal }) => runAction(await operations(), args, principal),
  });
}

type Arguments = Static<typeof parameters>;

async function runAction(
  jobs: Operations,
  args: Arguments,
  principal: Principal,
): Promise<unknown> {
  if (args.action === "list") return { jobs: entriesOf(principal, (await jobs.list()).jobs) };
  if (args.action === "add") return jobs.add(changeOf(args), "agent", principal);
  const { id } = args;
  if (id === undefined) throw errors.idMissing({ action: args.action }, { param: "id" });
  const job = await jobs.show(id);
  refuseOthersEntry(principal, "cron job", job);
  return runJobAction(jobs, id, job, args);
}

/** Runs an action on a job that the caller may see. */
async function runJobAction(
  jobs: Operations,
  id: string,
  job: Record<string, unknown>,
  args: Arguments,
): Promise<unknown> {
  switch (args.action) {
    case "show":
      return job;
    case "edit":
      return jobs.change(id, completeChange(changeOf(args), job));
    case "enable":
      return jobs.switch(id, "enabled");
    case "disable":
      return jobs.switch(id, "disabled");
    case "run":
      return jobs.run(id);
    case "runs":
      return jobs.runs(id);
    default:
      return jobs.remove(id);
  }
}

interface Change {
  name?: string;
  schedule?: string;
  tz?: string;
  message?: string;
  text?: string;
  deleteAfterRun?: boolean;
}

function changeOf({
  name,
  schedule,
  tz,
  message,
  text,
  deleteAfterRun,
}: Change): Record<string, unknown> {
  const zone = tz === undefined ? undefined : { tz };
  const event = text === undefined ? undefined : { kind: "systemEvent", text };
  return asBody({
    name: name || undefined,
    schedule: schedule === undefined ? zone : scheduleFromText(schedule, tz),
    payload: message === undefined ? event : { kind: "agentTurn", message },
    deleteAfterRun,
  });
}
