/** Which test files share a process, which go first, and which another process takes over at the end. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Batch {
  /** Those that no process has begun. */
  files: string[];
  /** Whether its files belong into one process. */
  isWhole: boolean;
}

interface Weighed extends Batch {
  weight: number;
  /** Of the texts. */
  length: number;
}

/**
 * As much as one process runs: what a failure may depend on stays small; but each process takes one to two seconds of a
 * core to load, and compile, what files need.
 */
const MOST_WEIGHT = 36;
/** Where few files are asked for, each process at a time gets so many batches all the same. */
const BATCHES_EACH = 3;

/** What only a process of its own can have, or keep from others. */
const wantsOwnProcess = /setFlagsFromString\(|setGlobalDispatcher\(/;
/** Another file's tests under other circumstances, which stay for all that follow in the process. */
const isVariant = /^await import\("\.\.\/[\w-]+\.test\.ts"\);$/m;

/** One gateway and browser for all of them. */
const sharesBrowser = /sharedBrowser\(|startDifficult\(/;

const startsProcess = /SIGKILL|spawnGateway\(|spawnNode\(|portico\(|startBrowser/g;
/** A database, or a browser that shows pages. */
const startsServer =
  /startPostgres\(|openBrowser\(|sharedBrowser\(|startDifficult\(|^import "\.\/server\.ts"/gm;

/**
 * Neighbours share a process, since they need the same modules. Files that wait for processes, kills and browsers take
 * longest and go first, so that none of them runs alone at the end: batches of many files are those of quick ones.
 */
export function inBatches(files: readonly string[], root: string, atATime: number): Batch[] {
  const batches: Weighed[] = [];
  const open = new Map<string, Weighed>();
  const weighed = files.map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return { file, text, weight: 1 + count(text, startsProcess) + 8 * count(text, startsServer) };
  });
  const whole = weighed.reduce((sum, { weight }) => sum + weight, 0);
  const batchWeight = Math.min(MOST_WEIGHT, whole / (atATime * BATCHES_EACH));
  for (const { file, text, weight } of weighed) {
    const group = groupOf(file, text);
    let batch = open.get(group);
    if (batch === undefined || (group === "" && batch.weight + weight > batchWeight)) {
      batch = { weight: 0, files: [], length: 0, isWhole: group !== "" };
      batches.push(batch);
      open.set(group, batch);
    }
    batch.weight += weight;
    batch.files.push(file);
    batch.length += text.length;
  }
  return batches.sort((a, b) => density(b) - density(a) || b.length - a.length);
}

/** Half of the files that wait in the batch with the most of them: for a process that would have nothing to do. */
export function shareOf(running: Iterable<Batch>): Batch | undefined {
  const parts = [...running].filter(({ files, isWhole }) => files.length > 0 && !isWhole);
  const [most] = parts.sort((a, b) => b.files.length - a.files.length);
  return most && { files: most.files.splice(Math.floor(most.files.length / 2)), isWhole: false };
}

/** Files that belong into one process, whatever their weight; empty for those that go with any neighbours. */
function groupOf(file: string, text: string): string {
  if (wantsOwnProcess.test(text)) return file;
  if (isVariant.test(text)) return dirname(file);
  return sharesBrowser.test(text) ? "browser" : "";
}

/** To a power of two: of batches that are much alike, the one with the most text goes first, and the last is short. */
const density = ({ weight, files }: Weighed): number =>
  Math.round(Math.log2(weight / files.length));

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
