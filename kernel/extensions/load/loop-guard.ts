/**
 * Ends endless loops in users' code from within: each `while` and `for` asks, with its condition, whether the event
 * loop has been kept waiting for too long, and throws where it has. That reaches what no time limit from outside does:
 * loops after an `await`, in timers, and those that await nothing but settled promises.
 *
 * It rewrites what esbuild prints. Loops of packages from `node_modules` are not reached, nor are slow regular
 * expressions; for these `runBounded` bounds the synchronous part of a call.
 */

/** Thrown inside a loop that blocked the gateway for too long; its stack names the place. */
export class EndlessLoopError extends Error {
  override name = "EndlessLoopError";
}

export interface LoopGuard {
  /** Called by each guarded loop before each round: true, or a throw. */
  tick(): true;
  /** How long the event loop may be kept waiting, from now on. */
  limit(ms: number): void;
}

/** One guard for the loops of one loaded module. */
export function createLoopGuard(limitMs: number): LoopGuard {
  let limit = limitMs;
  let rounds = 0;
  /** When the present turn of the event loop was first seen; 0 at the beginning of each. */
  let since = 0;
  let late = false;
  const turn = () => {
    since = 0;
    late = false;
  };
  return {
    tick() {
      // Looking at the clock costs more than most rounds. Once late, every loop ends: also one around a try/catch.
      if (!late && since !== 0 && ++rounds % 256 !== 0) return true;
      const now = performance.now();
      if (since === 0) {
        since = now;
        setImmediate(turn).unref();
      } else if (now - since > limit) {
        late = true;
        throw new EndlessLoopError(`a loop kept the gateway from everything else for ${limit} ms and was ended`);
      }
      return true;
    },
    limit(ms) {
      limit = ms;
    },
  };
}

interface Open {
  bracket: string;
  /** `while` and `for`: the parenthesis of a loop's head. `template`: a `${` in a template. */
  kind: "plain" | "while" | "for" | "template" | "head";
  semicolons: number;
  /** The condition of a `for` has been opened. */
  wrapped: boolean;
}

const token =
  /(?<space>\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<word>[\w$\u0080-\uffff]+)|(?<text>"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*')|(?<sign>\+\+|--|=>|\?\.|[\s\S])/y;
const regex = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const template = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;
const beforeRegex = new Set("return typeof case in of delete void throw new else do instanceof yield await".split(" "));

/** The code with each loop's condition asking `name()` first. On one line stays what was on it. */
export function guardLoops(code: string, name: string): string {
  const out: string[] = [];
  const stack: Open[] = [];
  let at = 0;
  /** The last token that counts, and whether the last `)` closed the head of a statement. */
  let previous = "";
  let beforePrevious = "";
  let afterHead = false;
  let newline = false;

  const readTemplate = () => {
    template.lastIndex = at;
    template.test(code);
    const end = template.lastIndex;
    out.push(code.slice(at, end));
    at = end;
    if (code.startsWith("${", at)) {
      out.push("${");
      at += 2;
      stack.push({ bracket: "{", kind: "template", semicolons: 0, wrapped: false });
      previous = "{";
    } else {
      out.push(code.slice(at, at + 1));
      at += 1;
      previous = "`";
    }
  };

  while (at < code.length) {
    if (code[at] === "/" && code[at + 1] !== "/" && code[at + 1] !== "*" && mayBeRegex()) {
      regex.lastIndex = at;
      if (regex.test(code)) {
        out.push(code.slice(at, regex.lastIndex));
        at = regex.lastIndex;
        previous = "regex";
        continue;
      }
    }
    token.lastIndex = at;
    const found = token.exec(code) as RegExpExecArray;
    const [text] = found;
    at = token.lastIndex;
    if (found.groups?.["space"] !== undefined) {
      newline ||= text.includes("\n");
      out.push(text);
      continue;
    }
    const wasPrevious = previous;
    const wasBefore = beforePrevious;
    beforePrevious = previous;
    previous = text;
    newline = false;
    if (text === "`") {
      out.push(text);
      readTemplate();
    } else if (text === "(" || text === "[" || text === "{") {
      const kind = text === "(" ? kindOfHead(wasPrevious, wasBefore) : "plain";
      stack.push({ bracket: text, kind, semicolons: 0, wrapped: false });
      out.push(kind === "while" ? `(${name}()&&(` : text);
    } else if (text === ")" || text === "]" || text === "}") {
      const open = stack.pop();
      afterHead = open !== undefined && open.kind !== "plain";
      out.push(open?.kind === "while" ? "))" : text);
      if (open?.kind === "template") readTemplate();
    } else if (text === ";") {
      out.push(semicolon(stack.at(-1)));
    } else {
      out.push(text);
    }
  }
  return out.join("");

  function mayBeRegex(): boolean {
    if (previous === "" || beforeRegex.has(previous)) return true;
    if (previous === ")") return afterHead;
    if (previous === "}") return newline;
    return !/^(?:[\w$\u0080-\uffff"'`\]]|\+\+|--|regex)/.test(previous);
  }

  function semicolon(open: Open | undefined): string {
    if (open?.kind !== "for") return ";";
    open.semicolons++;
    if (open.semicolons === 1) {
      open.wrapped = !/^\s*;/.test(code.slice(at, at + 200));
      return open.wrapped ? `;${name}()&&(` : `;${name}()`;
    }
    return open.wrapped ? ");" : ";";
  }
}

function kindOfHead(word: string, before: string): Open["kind"] {
  if (before === "." || before === "?.") return "plain";
  if (word === "while" || word === "for") return word;
  return word === "if" || word === "with" ? "head" : "plain";
}
