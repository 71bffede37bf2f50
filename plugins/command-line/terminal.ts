/** What the command line writes, all of it: the one place through which text from outside reaches a terminal. */
import type { OutputStream } from "portico";

export interface Terminal {
  /** A line on stdout; the tone colours it where stdout is a terminal. */
  print(line?: string, tone?: keyof typeof COLOURS): void;
  /** A line on stderr. */
  complain(line: string): void;
  /** A moving line on a terminal, plain lines elsewhere; on stderr. */
  progress(text: string): void;
}

const COLOURS = { warn: "\u001b[33m", error: "\u001b[31m" };
const PLAIN = "\u001b[0m";
const CLEAR_LINE = "\r\u001b[2K";
const CONTROL = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Control characters, and the two that do nothing but separate lines, as `\u001b`: visible, and inside the texts of JSON
 * still JSON of the same meaning.
 */
export function withoutControls(text: string): string {
  return text.replace(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function createTerminal(stdout: OutputStream, stderr: OutputStream): Terminal {
  let moving = false;
  const settle = () => {
    if (moving) stderr.write(CLEAR_LINE);
    moving = false;
  };
  return {
    print(line = "", tone) {
      settle();
      const text = withoutControls(line);
      stdout.write(`${tone && stdout.isTTY ? COLOURS[tone] + text + PLAIN : text}\n`);
    },
    complain(line) {
      settle();
      stderr.write(`${withoutControls(line)}\n`);
    },
    progress(text) {
      if (!stderr.isTTY) return void stderr.write(`${withoutControls(text)}\n`);
      stderr.write(CLEAR_LINE + withoutControls(text));
      moving = text !== "";
    },
  };
}
