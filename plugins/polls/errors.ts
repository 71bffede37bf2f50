/**
 * Every error of the plugin `polls`. A failed check throws `CheckFailed` instead, whose message is stored in the poll's
 * state.
 */
import { PorticoError } from "portico";

const INVALID = { code: "invalid_request_error" } as const;
const UPSTREAM = { code: "upstream_error", status: 502 } as const;

export const errors = PorticoError.table({
  // checks
  checkFailed: { ...UPSTREAM, message: "{problem}" },
  itemTooDeep: { ...UPSTREAM, message: "An item of the source is nested too deeply." },
  checkRunning: {
    code: "conflict",
    message: "A check of this poll has been running for a minute. Try again later.",
  },
  fileFromBrowser: {
    code: "internal_error",
    message: "The browser's route {route} responded with a file.",
  },

  // the agent's tool
  idMissing: { ...INVALID, message: "The action {action} needs `id`, the id or name of a poll." },

  // schedules and payloads
  everyAndSchedule: { ...INVALID, message: "Set either `every` or `schedule`, not both." },
  everyTooShort: {
    ...INVALID,
    message: "A poll may check its source at most ten times a second. Use 100ms or more.",
  },
  announceNotAllowed: {
    ...INVALID,
    message:
      "A poll's turns may not post to the main session, because the content that a poll finds comes from outside. Use a payload of kind systemEvent, which reaches the heartbeat of the main session.",
  },

  badPlaceholder: {
    ...INVALID,
    message:
      "{placeholder} is not a placeholder of a poll. Did you mean {nearest}? The placeholders of polls are {names}.",
  },

  badPath: {
    ...INVALID,
    message:
      "{path} is not a path into JSON. Write names with dots between them and positions in brackets: data.items, results[0].rows, rows[*].id.",
  },

  // sources
  fieldMissing: { ...INVALID, message: "A source of kind {kind} needs `{field}`." },
  fieldUnknown: {
    ...INVALID,
    message: "A source of kind {kind} cannot have `{field}`. It may have: {fields}.",
  },
  fieldNotForBrowser: {
    ...INVALID,
    message: "A source with `browser: true` cannot have `{field}`.",
  },
  badHeader: { ...INVALID, message: "The header {name} cannot be sent: {problem}." },
  bodyWithGet: {
    ...INVALID,
    message: "A request with the method GET has no body. Use POST, or leave out `body`.",
  },
  badSelector: { ...INVALID, message: "{selector} is not a valid CSS selector." },
  badPattern: {
    ...INVALID,
    message: "{pattern} is not a regular expression that polls support: it {problem}.",
  },
  pathOutside: {
    ...INVALID,
    message: "The path is outside the workspace and the directories of polls.roots.",
  },
  pathUnreadable: { ...INVALID, message: "The path cannot be read: {reason}." },
});
