/** Converts the definition of a poll to its stored form. */
import type { PluginContext } from "portico";
import { openPayload, sealPayload } from "portico/deliveries";
import {
  type PayloadSpec,
  type ScheduleTools,
  restoreMaskedSecrets,
  unmaskedPayload,
} from "portico/schedules";
import { checkSource } from "./check-source.ts";
import { getDefaultPayload } from "./checking/deliver.ts";
import { checkPollPayload, readTiming } from "./definition-rules.ts";
import { checkAddress, createPollGuard } from "./policy.ts";
import { maskSource, placeOf, type PollBody } from "./poll.ts";
import type { ConfiguredPoll, PollsConfig, Source } from "./schema.ts";
import { confinePath, listFileRoots } from "./sources/confined.ts";

/** The optional fields that are stored unchanged. */
export const SETTINGS = [
  "description",
  "maxItems",
  "timeoutMs",
  "maxBytes",
  "allowPrivateNetwork",
  "tools",
] as const;

export interface DefinitionOptions {
  ctx: PluginContext;
  tools: ScheduleTools;
  settings(): PollsConfig;
}

export type Creator = Pick<PollBody, "origin" | "createdBy">;

export class PollDefinitions {
  readonly #options: DefinitionOptions;

  constructor(options: DefinitionOptions) {
    this.#options = options;
  }

  /**
   * Converts a definition. Throws `invalid_request_error` for one that could not work. `before` is the body that it
   * replaces.
   */
  bodyOf(definition: ConfiguredPoll, creator: Creator, now: number, before?: PollBody): PollBody {
    const { ctx, tools } = this.#options;
    const source = this.#sourceOf(definition, before);
    const payload = this.#payloadOf(definition, source, before);
    const { origin, createdBy } = creator;
    const body: PollBody = {
      ...readTiming(definition, (schedule) => tools.readSchedule(schedule, now, "schedule")),
      source,
      payload,
      fireOnFirst: definition.fireOnFirst ?? false,
      origin,
      anchorMs: now,
    };
    if (createdBy !== undefined) body.createdBy = createdBy;
    for (const key of SETTINGS) {
      if (definition[key] !== undefined) Object.assign(body, { [key]: definition[key] });
    }
    // A poll whose source has become forbidden can still be renamed and disabled.
    const isSamePlace =
      before !== undefined &&
      origin === before.origin &&
      placeOf(source) === placeOf(before.source);
    if (!isSamePlace) this.#checkPlace(body);
    if (payload.kind === "hook") tools.declareHookEvent(payload.event);
    return { ...body, payload: sealPayload(ctx, payload) };
  }

  /** An interval begins at once, with the check that sets the baseline. A schedule begins at its first date. */
  firstCheckAt(body: PollBody, now: number): number {
    if (body.every !== undefined) return now;
    return this.#options.tools.next(body.schedule, now, body.anchorMs) ?? now;
  }

  /** Restores secrets that a user sends back masked, and validates the source. */
  #sourceOf(definition: ConfiguredPoll, before: PollBody | undefined): Source {
    const masked = before && maskSource(before.source);
    const source = restoreMaskedSecrets(definition.source, masked, before?.source, "source");
    // A poll of an earlier version that breaks a rule can still be renamed and disabled.
    if (definition.source !== before?.source) checkSource(source);
    return source;
  }

  #payloadOf(
    { payload: definition }: ConfiguredPoll,
    source: Source,
    before: PollBody | undefined,
  ): PayloadSpec {
    const { ctx, tools } = this.#options;
    const payload =
      definition === undefined
        ? getDefaultPayload(source.kind)
        : unmaskedPayload(
            tools.readPayload(definition, "payload"),
            () => before && openPayload(ctx, before.payload),
          );
    // A poll of an earlier version that breaks a rule can still be renamed and disabled.
    if (before === undefined || definition !== before.payload) checkPollPayload(payload);
    if (payload.kind !== "agentTurn") {
      tools.checkPayload(payload);
      return payload;
    }
    // The session may be a template, which is filled in later.
    tools.checkPayload({ ...payload, session: undefined });
    return payload;
  }

  #checkPlace(body: PollBody): void {
    const { ctx, settings } = this.#options;
    const { url, path } = body.source;
    if (url !== undefined) checkAddress(createPollGuard(ctx, settings(), body), url);
    if (path !== undefined) confinePath(listFileRoots(ctx, settings().roots), path);
  }
}
