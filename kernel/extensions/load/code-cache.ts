/**
 * What the engine makes of a bundle, kept beside it: with it, a start need not parse some two megabytes of text, most
 * of which never runs.
 */
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { Script } from "node:vm";

export interface CodeCache {
  file: string;
  /** Of the text that is compiled. The engine itself compares nothing but lengths. */
  hash: string;
}

/** Compiles a text, from the cache where that fits, and puts it there where it does not. */
export function compileScript(text: string, filename: string, cache: CodeCache): Script {
  const cachedData = read(cache);
  const script = new Script(text, { filename, ...(cachedData && { cachedData }) });
  if (cachedData === undefined || script.cachedDataRejected) keep(cache, script);
  return script;
}

function read({ file, hash }: CodeCache): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    return bytes.toString("latin1", 0, hash.length) === hash ? bytes.subarray(hash.length) : undefined;
  } catch {
    return undefined;
  }
}

function keep({ file, hash }: CodeCache, script: Script): void {
  const temporary = `${file}.${process.pid}.tmp`;
  let fd: number;
  try {
    fd = openSync(temporary, "wx", 0o600);
  } catch {
    // A read-only installation runs without.
    return;
  }
  try {
    writeSync(fd, Buffer.concat([Buffer.from(hash, "latin1"), script.createCachedData()]));
    renameSync(temporary, file);
  } catch {
    rmSync(temporary, { force: true });
  } finally {
    closeSync(fd);
  }
}
