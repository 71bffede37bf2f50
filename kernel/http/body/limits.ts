/** The limits of what a body may contain, in whatever format. Its readers check them before they build anything. */
import type { BodyLimits } from "../../contract/index.ts";
import type { PorticoError } from "../../errors.ts";
import { errors } from "../errors.ts";
import { DEFAULT_JSON_LIMITS, type JsonScan, scanJson } from "../../text/json-scan.ts";

export const DEFAULT_BODY_LIMITS: BodyLimits = DEFAULT_JSON_LIMITS;

/** The error for a body that breaks a limit. It names the limit and the setting that raises it. */
export function limitError(limit: keyof BodyLimits, limits: BodyLimits): PorticoError {
  const maximum = limits[limit].toLocaleString("en-US");
  const excess = {
    maxValues: `holds more than ${maximum} values`,
    maxMembers: `has an object with more than ${maximum} members`,
    maxDepth: `is nested more than ${maximum} levels deep`,
  }[limit];
  return errors.overLimit({ excess, limit });
}

/** Throws `invalid_request_error` for a JSON text that breaks one of the limits. */
export function checkJsonLimits(text: string, limits: BodyLimits): JsonScan {
  const scan = scanJson(text, limits);
  if (scan.broken !== undefined) throw limitError(scan.broken, limits);
  return scan;
}
