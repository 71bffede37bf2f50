/** All output of the command line. Text from outside reaches the terminal only through this module. */
import type { OutputStream } from "portico";

export interface Terminal {
  /** Prints a line on stdout. `tone` colours it if stdout is a terminal. */
  print(line?: string, tone?: keyof typeof COLOURS): void;
  /** Prints a line on stderr. */
  printError(line: string): void;
  /** Reports progress on stderr: in one updated line on a terminal, in plain lines elsewhere. */
  progress(text: string): void;
}

const COLOURS = { warn: "\u001b[33m", error: "\u001b[31m" };
const RESET_COLOUR = "\u001b[0m";
const CLEAR_LINE = "\r\u001b[2K";
const CONTROL = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Escapes control characters and the two Unicode line separators in the form `\u001b`. So they are visible, and a string in
 * JSON keeps its meaning.
 */
export function escapeControls(text: string): string {
  return text.replace(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function createTerminal(stdout: OutputStream, stderr: OutputStream): Terminal {
  let hasProgressLine = false;
  const clearProgress = () => {
    if (hasProgressLine) stderr.write(CLEAR_LINE);
    hasProgressLine = false;
  };
  return {
    print(line = "", tone) {
      clearProgress();
      const text = escapeControls(line);
      stdout.write(`${tone && stdout.isTTY ? COLOURS[tone] + text + RESET_COLOUR : text}\n`);
    },
    printError(line) {
      clearProgress();
      stderr.write(`${escapeControls(line)}\n`);
    },
    progress(text) {
      if (!stderr.isTTY) return void stderr.write(`${escapeControls(text)}\n`);
      stderr.write(CLEAR_LINE + escapeControls(text));
      hasProgressLine = text !== "";
    },
  };
}
