/** Decides which test files share a process, which run first, and which another process takes over at the end. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Batch {
  /** The files that no process has started. */
  files: string[];
  /** True if all of its files must run in the same process. */
  isWhole: boolean;
}

interface WeighedBatch extends Batch {
  weight: number;
  /** The total length of the files' texts. */
  length: number;
}

/**
 * The maximum weight of a batch. It keeps the set of files that can affect a failure small, but not too small, since each
 * process takes one to two seconds of a core to load and compile modules.
 */
const MAX_WEIGHT = 36;
/** The number of batches for each concurrent process, even in a run of few files. */
const BATCHES_PER_PROCESS = 3;

/** Matches code that needs a process of its own, because it changes the whole process. */
const needsOwnProcess = /setFlagsFromString\(|setGlobalDispatcher\(/;
/** Matches a file that runs another file's tests under conditions that stay active for the rest of the process. */
const isVariant = /^await import\("\.\.\/[\w-]+\.test\.ts"\);$/m;

/** Matches files that share one gateway and browser. */
const sharesBrowser = /sharedBrowser\(|startDifficult\(/;

const startsProcess = /SIGKILL|spawnGateway\(|spawnNode\(|portico\(|startBrowser/g;
/** Matches starts of a database, or of a browser that shows pages. */
const startsServer =
  /startPostgres\(|openBrowser\(|sharedBrowser\(|startDifficult\(|^import "\.\/server\.ts"/gm;

/**
 * Divides files into batches. Neighbours share a process, since they need the same modules. Batches of slow files, which
 * wait for processes, kills and browsers, come first, so that none of them runs alone at the end.
 */
export function divideIntoBatches(
  files: readonly string[],
  root: string,
  concurrency: number,
): Batch[] {
  const batches: WeighedBatch[] = [];
  const openBatches = new Map<string, WeighedBatch>();
  const weighedFiles = files.map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return { file, text, weight: 1 + count(text, startsProcess) + 8 * count(text, startsServer) };
  });
  const totalWeight = weighedFiles.reduce((sum, { weight }) => sum + weight, 0);
  const batchWeight = Math.min(MAX_WEIGHT, totalWeight / (concurrency * BATCHES_PER_PROCESS));
  for (const { file, text, weight } of weighedFiles) {
    const group = groupOf(file, text);
    let batch = openBatches.get(group);
    if (batch === undefined || (group === "" && batch.weight + weight > batchWeight)) {
      batch = { weight: 0, files: [], length: 0, isWhole: group !== "" };
      batches.push(batch);
      openBatches.set(group, batch);
    }
    batch.weight += weight;
    batch.files.push(file);
    batch.length += text.length;
  }
  return batches.sort((a, b) => density(b) - density(a) || b.length - a.length);
}

/** Takes half of the waiting files from the running batch with the most of them, for a process that would be idle. */
export function takeShare(running: Iterable<Batch>): Batch | undefined {
  const parts = [...running].filter(({ files, isWhole }) => files.length > 0 && !isWhole);
  const [largest] = parts.sort((a, b) => b.files.length - a.files.length);
  return (
    largest && { files: largest.files.splice(Math.floor(largest.files.length / 2)), isWhole: false }
  );
}

/**
 * Returns the group of files that must run in one process, whatever their weight, or an empty string for all other files.
 */
function groupOf(file: string, text: string): string {
  if (needsOwnProcess.test(text)) return file;
  if (isVariant.test(text)) return dirname(file);
  return sharesBrowser.test(text) ? "browser" : "";
}

/**
 * Returns the weight per file, rounded to a power of two, so that among similar batches the one with the most text comes
 * first.
 */
const density = ({ weight, files }: WeighedBatch): number =>
  Math.round(Math.log2(weight / files.length));

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
