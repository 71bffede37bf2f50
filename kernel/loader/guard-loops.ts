/**
 * Rewrites loops for the loop guard. This is the only importer of acorn, and is itself loaded only if a bundle may have
 * loops.
 */
import { parse } from "acorn";

interface Loop {
  type: string;
  start: number;
  init?: { end: number } | null;
  test?: { start: number; end: number } | null;
}

/** Returns the code with a call of `name()` in front of each loop's condition. Line numbers stay unchanged. */
export function guardLoops(code: string, name: string): string {
  const inserts: { at: number; text: string }[] = [];
  for (const { type, start, init, test } of loopsIn(code)) {
    const at =
      type === "ForStatement" ? code.indexOf(";", init?.end ?? start) + 1 : (test?.start ?? start);
    inserts.push({ at, text: test ? `${name}()&&(` : `${name}()` });
    if (test) inserts.push({ at: test.end, text: ")" });
  }
  inserts.sort((a, b) => a.at - b.at);
  let copiedTo = 0;
  const parts = inserts.map(({ at, text }) => {
    const part = code.slice(copiedTo, at) + text;
    copiedTo = at;
    return part;
  });
  return parts.join("") + code.slice(copiedTo);
}

function loopsIn(code: string): Loop[] {
  const loops: Loop[] = [];
  const program = parse(code, {
    ecmaVersion: "latest",
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
  });
  // This is not recursive, because a long chain of operators is a deep tree.
  const open: unknown[] = [program];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== "object" || node === null) continue;
    if (/^(While|DoWhile|For)Statement$/.test((node as Loop).type)) loops.push(node as Loop);
    for (const value of Object.values(node)) if (typeof value === "object") open.push(value);
  }
  return loops;
}
