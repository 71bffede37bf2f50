/** Every error of the plugin `agent-tools`. The model that called a tool reads them. */
import { PorticoError } from "portico";

const INVALID = { code: "invalid_request_error" } as const;

export const errors = PorticoError.table({
  parameterMissing: { ...INVALID, message: "{action} needs {param}." },

  // paths
  unknownFile: { code: "not_found", message: "There is no {path} in the workspace." },
  outsideWorkspace: {
    ...INVALID,
    message: "The path leads out of the workspace. Use a path inside it.",
  },
  barredPath: {
    ...INVALID,
    message:
      "The agent may not read or write this path. It is in hooks/, plugins/ or node_modules/, it belongs to the gateway, or it is listed in agents.defaults.files.deny.",
  },
  protectedFile: { ...INVALID, message: "The agent may not write this file: {reason}." },
  nulInPath: { ...INVALID, message: "The path contains a NUL character." },
  unreadablePath: { ...INVALID, message: "The path cannot be read: {reason}." },
  workspaceAsFile: {
    ...INVALID,
    message: "The path names the workspace itself. Pass the path of a file.",
  },
  directoryNotMade: { ...INVALID, message: "The directory cannot be created: {reason}." },
  notADirectory: {
    ...INVALID,
    message: "A part of the path is a file or a link, not a directory.",
  },
  notAFileOfItsOwn: {
    ...INVALID,
    message: "The path names a directory or a link, not a regular file.",
  },

  // contents
  unreadableFile: { ...INVALID, message: "The file cannot be read: {reason}." },
  unwritableFile: { ...INVALID, message: "The file cannot be written: {reason}." },
  directoryRead: { ...INVALID, message: "The path is a directory. Use `list`." },
  fileListed: { ...INVALID, message: "The path is a file. Use `read`." },
  notRegular: { ...INVALID, message: "Only regular files can be read." },
  hardLinked: {
    ...INVALID,
    message:
      "The file has several hard links, so another program may use it. Make a copy of it first.",
  },
  fileTooLarge: { ...INVALID, message: "The file has {bytes} bytes, which is more than {max}." },
  contentTooLarge: { ...INVALID, message: "A file can have at most {max} bytes." },
  notText: { ...INVALID, message: "The file is not text." },
  offsetBeyondEnd: {
    ...INVALID,
    message: "`offset` is beyond the end: the file has only {lines} lines.",
  },
  textNotInFile: {
    ...INVALID,
    message:
      "The file does not contain the text in `old`. Read the file, and copy the text from there.",
  },
  textNotUnique: {
    ...INVALID,
    message: "The text in `old` occurs {times} times. Quote more of the text, or set all: true.",
  },
  noteFull: { ...INVALID, message: "{path} is full. Use another note." },

  // sessions
  unknownSession: { code: "not_found", message: "There is no session {session}." },
  sendToItself: {
    ...INVALID,
    message: "This is the current session. Respond here instead of sending a message.",
  },
  mayNotSend: {
    ...INVALID,
    message: "Turns of a client, a webhook or a poll cannot start turns in other sessions.",
  },
  sendFromSent: {
    ...INVALID,
    message:
      "Another session started this turn and reads the response from it. Respond here instead of sending that session a message.",
  },

  // web
  pageError: {
    code: "upstream_error",
    status: 502,
    message: "The server responded with {status}: {text}",
  },
  notATextPage: {
    ...INVALID,
    message: "The page is not text. Its type is {type} ({bytes} bytes).",
  },
});
