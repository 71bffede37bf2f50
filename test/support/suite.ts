/**
 * uvu's suites, with complete reports of failures. By itself, uvu discards an error of a `before`, ends the whole suite
 * silently if an `after.each` throws, and cannot print an error whose `details` are not a string.
 */
import "./sources/error-codes.ts";
import { suite as uvuSuite, type Callback, type Test } from "uvu";

export function suite<T = Record<string, any>>(title?: string, context?: T): Test<T> {
  const inner = uvuSuite<T>(title, context);
  const beforeEach: Callback<T>[] = [];
  const afterEach: Callback<T>[] = [];

  /** Combines a test with the hooks around it. The first error is the failure, and each `after.each` always runs. */
  const withHooks =
    (handler: Callback<T>): Callback<T> =>
    async (state) => {
      const failures: Error[] = [];
      const attempt = async (step: Callback<T>) => {
        try {
          await step(state);
        } catch (error) {
          failures.push(toPrintableError(error));
        }
      };
      await attempt(async () => {
        for (const hook of beforeEach) await hook(state);
        await handler(state);
      });
      for (const hook of afterEach) await attempt(hook);
      for (const further of failures.slice(1))
        console.error(`after "${state.__test__}" failed:`, further);
      if (failures[0]) throw failures[0];
    };
  const reportErrors =
    (where: string, hook: Callback<T>): Callback<T> =>
    async (state) => {
      try {
        await hook(state);
      } catch (error) {
        console.error(`${where} the tests:`, error);
        throw error;
      }
    };

  const test = ((name, handler) => inner(name, withHooks(handler))) as Test<T>;
  return Object.assign(test, {
    only: (name: string, handler: Callback<T>) => inner.only(name, withHooks(handler)),
    skip: inner.skip,
    before: Object.assign((hook: Callback<T>) => inner.before(reportErrors("before", hook)), {
      each: (hook: Callback<T>) => void beforeEach.push(hook),
    }),
    after: Object.assign((hook: Callback<T>) => inner.after(reportErrors("after", hook)), {
      each: (hook: Callback<T>) => void afterEach.push(hook),
    }),
    run: inner.run,
  });
}

export const test = suite();

function toPrintableError(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  const { details } = thrown as { details?: unknown };
  return details === undefined || details === false || typeof details === "string"
    ? thrown
    : new Error(`${thrown.message} ${JSON.stringify(details)}`, { cause: thrown });
}
