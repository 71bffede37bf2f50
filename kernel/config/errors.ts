/**
 * Every error of reading and changing the configuration, except `ConfigError`, which lists the problems of the content.
 */
import { PorticoError } from "../errors.ts";

export const errors = PorticoError.table({
  // the file
  unusableFile: {
    code: "invalid_config",
    status: 500,
    message: "The file {file} cannot be {verb}: {reason}.",
  },
  changedMeanwhile: {
    code: "precondition_failed",
    message:
      "The configuration has changed since you read it. Read it again and repeat your change on the new version.",
  },
  /** `reason` comes from the part that could not apply the change. */
  notApplied: {
    code: "config_error",
    status: 500,
    message: "{name} is valid, but it could not be applied: {reason}",
  },
  /** `reason` is the whole message of the error that occurred when the change was applied. */
  notActive: { code: "config_error", status: 500, message: "{reason}" },

  // versions
  noEarlierVersion: {
    code: "not_found",
    message: "There is no earlier version to restore.",
  },
  unknownVersion: {
    code: "not_found",
    message: "There is no version {version}. {kept}",
  },

  // edits
  entriesLost: {
    code: "invalid_request_error",
    message:
      "This change would remove {entries}. A map must be changed entry by entry: write each entry under its own key, and remove entries by name.",
  },
  wholeMapRemoved: {
    code: "invalid_request_error",
    message: "{key} contains entries ({entries}). Remove each of them by its name.",
  },
  numberNotStorable: {
    code: "invalid_request_error",
    message: "NaN and Infinity cannot be stored. Use a finite number.",
  },
  emptyPath: {
    code: "invalid_request_error",
    message: "The configuration key is empty. Name the key to set.",
  },
  wrongContainer: {
    code: "invalid_request_error",
    message: "{path} cannot be set, because {parent} is not {kind}.",
  },
  beyondEnd: {
    code: "invalid_request_error",
    message:
      "{path} cannot be set: the list has {length} entries. To append an entry, write to [{length}].",
  },
});
