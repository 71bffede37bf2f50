/** The schemas of the routes of schedules of every kind. */
import { type RouteOptions, type TSchema, Type } from "portico";
import { AnyObject, choice, jsonResponse, limitField, Time } from "portico/openapi";

export interface ScheduleKind {
  /** The noun for an entry, such as "cron job". */
  noun: string;
  /** The member of the list's response, such as "jobs". */
  plural: string;
  /**
   * The bodies that create and change an entry. The operations validate them, because the agent's tool uses the same
   * ones.
   */
  create: TSchema;
  change: TSchema;
  /** Members of an entry in responses, in addition to those that entries of every kind have. */
  view: Record<string, TSchema>;
}

const COMMON_VIEW = {
  id: Type.String(),
  name: Type.String(),
  status: choice(["enabled", "disabled"]),
  principal: Type.Optional(Type.String()),
  createdAt: Type.Optional(Time),
  updatedAt: Type.Optional(Time),
  state: AnyObject,
};

const owner = { access: "gateway" } as const;

/** Describes the routes of one kind of schedule. */
export function describeScheduleRoutes({ noun, plural, create, change, view }: ScheduleKind) {
  const Entry = Type.Object({ ...COMMON_VIEW, ...view });
  const oneEntry = { ...owner, response: jsonResponse(Entry) };
  return {
    ...describeEntryRoutes(noun, view),
    list: {
      ...owner,
      summary: `List every ${noun}`,
      response: jsonResponse(Type.Object({ [plural]: Type.Array(Entry) })),
    },
    add: { ...oneEntry, summary: `Create a ${noun}`, body: create, checkedBy: "handler" },
    change: {
      ...oneEntry,
      summary: `Change a ${noun}; null removes a member`,
      body: change,
      checkedBy: "handler",
    },
  } satisfies Record<string, RouteOptions>;
}

/** Describes the routes whose bodies are the same for every kind. */
export function describeEntryRoutes(noun: string, view: ScheduleKind["view"] = {}) {
  const oneEntry = { ...owner, response: jsonResponse(Type.Object({ ...COMMON_VIEW, ...view })) };
  return {
    show: { ...oneEntry, summary: `Show a ${noun}` },
    remove: {
      ...owner,
      summary: `Remove a ${noun}`,
      response: jsonResponse(
        Type.Object({ ok: Type.Literal(true), id: Type.String(), name: Type.String() }),
      ),
    },
    run: {
      ...owner,
      summary: `Run a ${noun} now`,
      body: null,
      response: jsonResponse(Type.Object({ ok: Type.Boolean() })),
    },
    enable: { ...oneEntry, summary: `Enable a ${noun}`, body: null },
    disable: { ...oneEntry, summary: `Disable a ${noun}`, body: null },
    runs: {
      ...owner,
      summary: `List the last runs of a ${noun}`,
      query: Type.Object({ limit: limitField(20) }),
      response: jsonResponse(Type.Object({ runs: Type.Array(AnyObject) })),
    },
  } satisfies Record<string, RouteOptions>;
}
