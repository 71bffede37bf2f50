/** Every error of the tools that jobs and polls share. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  // entries
  unknownEntry: {
    code: "not_found",
    message: "There is no {noun} {name}. `{command}` lists all {noun}s.",
  },
  /** The error does not repeat the name, which may be another client's. */
  notYours: {
    code: "not_found",
    message: "There is no {noun} with that id or name. Check the id.",
  },
  ambiguousName: {
    code: "conflict",
    message: "Several {noun}s are named {name}. Use one of their ids: {ids}.",
  },
  configured: {
    code: "conflict",
    message: "The {noun} {name} is defined in the configuration ({key}). Change it there.",
  },
  notRemovable: {
    code: "invalid_request_error",
    message: "{field} cannot be removed. Send a value for it.",
  },
  badDefinition: { code: "invalid_request_error", message: "{key}: {problem}" },
  maskedSecret: {
    code: "invalid_request_error",
    message: "{param} holds {mask} instead of a secret. Send the secret itself.",
  },

  /** `problem` is the sentence of the validator, with the name of the field. */
  invalidField: { code: "invalid_request_error", message: "{problem}" },

  // dates; `subject` is empty, or the field with a colon
  badDuration: { code: "invalid_request_error", message: "{subject}{value} {problem}." },
  unknownZone: {
    code: "invalid_request_error",
    message: "{zone} is not a time zone. Write an IANA name such as Europe/Berlin or UTC.",
  },
  zoneTwice: {
    code: "invalid_request_error",
    message: "The expression names the time zone {zone}, but `tz` is {tz}. Keep only one of them.",
  },
  notDate: {
    code: "invalid_request_error",
    message:
      '{value} is not a date. Write ISO 8601, such as 2027-01-31T09:00:00+01:00, or "in 20m".',
  },
  noSuchDate: {
    code: "invalid_request_error",
    message: "{value} is not a date that exists.",
  },
  badInterval: {
    code: "invalid_request_error",
    message:
      "`everyMs` must be a whole number of milliseconds: at least 100 (0.1 s), at most 100 years.",
  },
  unknownNickname: {
    code: "invalid_request_error",
    message:
      '{expr} is not a known nickname. Write one of {nicknames}, or an interval such as "every 5m".',
  },
  fieldCount: {
    code: "invalid_request_error",
    message:
      "A cron expression has 5 fields, or 6 with seconds first. This expression has {count}.",
  },
  badExpression: {
    code: "invalid_request_error",
    message: "The cron expression cannot be read: {reason}",
  },
  neverComes: {
    code: "invalid_request_error",
    message: "{expr} never occurs: no date matches it.",
  },
});
