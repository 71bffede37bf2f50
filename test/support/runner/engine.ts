/**
 * V8 options for processes that live for seconds. Half of the optimizing compiler's work never pays off in them, so a
 * function must run many times as often before it is optimized. The young generation has its maximum size from the start,
 * because each step of its growth is a collection that promotes short-lived objects. Neither option changes behaviour.
 * Later versions of V8 count the budget in other units.
 */
export const engineOptions: readonly string[] = process.versions.v8.startsWith("11.")
  ? ["--interrupt-budget=1081344", "--min-semi-space-size=16"]
  : [];
