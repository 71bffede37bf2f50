/**
 * Options of V8 for processes that live for seconds. Half of the work of the optimizing compiler never pays off in them, so a
 * function must run many times as often before it is optimized. The young generation has its largest size from the start,
 * because each step of its growth is a collection that promotes short-lived objects. Neither option changes what code does.
 * Later versions of V8 count the budget in other units.
 */
export const engineOptions: readonly string[] = process.versions.v8.startsWith("11.")
  ? ["--interrupt-budget=1081344", "--min-semi-space-size=16"]
  : [];
