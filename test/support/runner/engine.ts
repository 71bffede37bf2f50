/**
 * V8's options for processes of seconds: half of what the optimizing compiler does never pays there, so that a function is
 * to run many times as often before; and the young generation has its largest size at once, or each step to it is a
 * collection that passes on what is gone soon. Neither changes what code does. Later engines count in other units.
 */
export const engineOptions: readonly string[] = process.versions.v8.startsWith("11.")
  ? ["--interrupt-budget=1081344", "--min-semi-space-size=16"]
  : [];
