/** Statistics of readings, and measurements of processes. */
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Returns the median, or NaN if there are no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (
    ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
  );
}

/** Returns the value below which this share (0 to 1) of all values is, or NaN if there are no values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Compares alternating readings. Returns the median of the rounds' ratios, and their 10th and 90th percentiles. */
export function ratios(
  ours: readonly number[],
  theirs: readonly number[],
): { value: number; spread: [low: number, high: number] } {
  const all = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  return { value: median(all), spread: [percentile(all, 0.1), percentile(all, 0.9)] };
}

/** Returns the user and system time of a process so far, in µs. */
export function cpuMicros(pid: number): number {
  const threads = `/proc/${pid}/task`;
  const exact = (thread: string) => `${threads}/${thread}/schedstat`;
  if (existsSync(exact(String(pid)))) {
    const nanos = readdirSync(threads).map((thread) =>
      Number(readFileSync(exact(thread), "utf8").split(" ")[0]),
    );
    return nanos.reduce((sum, value) => sum + value, 0) / 1000;
  }
  // These fields are counted in steps of 10 ms.
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

export function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Returns the proportional set size, in which each process counts its share of shared memory. */
export function shareMegabytes(pid: number): number {
  return (
    Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) / 1024
  );
}

/** Returns a process and its children. */
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
    return undefined; // the process has ended meanwhile
  }
}
