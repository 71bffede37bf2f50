/** A recorded session as an animated picture: an SVG without scripts, which stands still where motion is not wanted. */
import type { Step } from "./session.ts";

const FONT_PX = 14;
const LINE_PX = 20;
const CHARACTER_PX = 8.43;
const PADDING_PX = 18;
const COLUMNS = 112;
const BAR_PX = 30;
const TYPING_MS_PER_CHARACTER = 10;
const PAUSE_MS = 900;
const MOST_LINES_PER_STEP = 9;

interface Line {
  text: string;
  kind: "command" | "output";
  atMs: number;
}

export function terminalPicture(steps: readonly Step[]): string {
  const lines = linesOf(steps);
  const width = Math.ceil(COLUMNS * CHARACTER_PX + 2 * PADDING_PX);
  const height = BAR_PX + lines.length * LINE_PX + 2 * PADDING_PX;
  const texts = lines.map((line, i) => textOf(line, BAR_PX + PADDING_PX + (i + 0.8) * LINE_PX));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(`Recording of a terminal: ${steps.map(({ command }) => command).join("; ")}`)}">
<style>
text { font: ${FONT_PX}px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d7dde5; white-space: pre; }
.command { fill: #8fd19e; }
.late { opacity: 0; animation: appear 1ms linear forwards; }
@keyframes appear { to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { .late { opacity: 1; animation: none; } }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#14181f"/>
<circle cx="20" cy="16" r="5" fill="#e5645b"/><circle cx="38" cy="16" r="5" fill="#e0b044"/><circle cx="56" cy="16" r="5" fill="#62b25b"/>
${texts.join("\n")}
</svg>
`;
}

/** Commands appear as fast as a quick typist writes, their output after the time that they really took. */
function linesOf(steps: readonly Step[]): Line[] {
  let atMs = 400;
  return steps.flatMap(({ command, output, ms }) => {
    const typed = `$ ${command}`.split("\n").map((text): Line => ({ text, kind: "command", atMs }));
    atMs += command.length * TYPING_MS_PER_CHARACTER + ms;
    const printed = outputLines(output).map((text): Line => ({ text, kind: "output", atMs }));
    atMs += PAUSE_MS + 120 * printed.length;
    return [...typed, ...printed];
  });
}

function outputLines(output: string): string[] {
  if (output === "") return [];
  const lines = output.split("\n").map(shortened);
  if (lines.length <= MOST_LINES_PER_STEP) return lines;
  return [...lines.slice(0, MOST_LINES_PER_STEP - 1), "…"];
}

function shortened(line: string): string {
  return line.length <= COLUMNS ? line : `${line.slice(0, COLUMNS - 1)}…`;
}

function textOf({ text, kind, atMs }: Line, y: number): string {
  const delay = `style="animation-delay: ${Math.round(atMs)}ms"`;
  return `<text class="late ${kind}" ${delay} x="${PADDING_PX}" y="${y}" xml:space="preserve">${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
