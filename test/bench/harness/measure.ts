/** What the benchmarks make of many readings, and what the system says of a process. */
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** NaN where there is none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (
    ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
  );
}

/** The value that this share of all (0 to 1) lies below; NaN where there is none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Of readings that were taken in turn: the median of each round's own ratio, and where a tenth lies below and above. */
export function ratios(
  ours: readonly number[],
  theirs: readonly number[],
): { value: number; spread: [low: number, high: number] } {
  const all = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  return { value: median(all), spread: [percentile(all, 0.1), percentile(all, 0.9)] };
}

/** User and system time of a process so far, in µs. */
export function cpuMicros(pid: number): number {
  const threads = `/proc/${pid}/task`;
  const exact = (thread: string) => `${threads}/${thread}/schedstat`;
  if (existsSync(exact(String(pid)))) {
    const nanos = readdirSync(threads).map((thread) =>
      Number(readFileSync(exact(thread), "utf8").split(" ")[0]),
    );
    return nanos.reduce((sum, one) => sum + one, 0) / 1000;
  }
  // Counted in steps of 10 ms.
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

export function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Resident memory in which what several processes share counts as a part for each. */
export function shareMegabytes(pid: number): number {
  return (
    Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) / 1024
  );
}

/** A process and its children. */
export function familyOf(pid: number): number[] {
  const children = readdirSync("/proc").filter(
    (name) => /^\d+$/.test(name) && parentOf(name) === pid,
  );
  return [pid, ...children.map(Number)];
}

function parentOf(name: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined; // it has ended meanwhile
  }
}
