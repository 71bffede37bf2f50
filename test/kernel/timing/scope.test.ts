import { Scope } from "portico";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";

test("undos run last to first, awaited, and only once", async () => {
  const scope = new Scope();
  const ran: number[] = [];
  scope.add("one", () => void ran.push(1));
  const two = scope.add("two", async () => {
    await Promise.resolve();
    ran.push(2);
  });
  scope.add("three", () => void ran.push(3));
  await two();
  await scope.dispose();
  await scope.dispose();
  await two();
  assert.equal(ran, [2, 3, 1]);
});

test("an undo that throws does not keep the others from running", async () => {
  const scope = new Scope();
  let ran = false;
  scope.add("first", () => {
    ran = true;
  });
  scope.add("second", () => {
    throw new Error("boom");
  });
  const errors = await scope.dispose();
  assert.ok(ran);
  assert.equal(
    errors.map(({ message }) => message),
    ["boom"],
  );
});

test("an undo that never ends is named, and the others still run", async () => {
  const scope = new Scope();
  const undone: string[] = [];
  scope.add("first", () => void undone.push("first"));
  scope.add("stuck", () => new Promise<void>(() => {}));
  const errors = await scope.dispose(5);
  assert.equal(undone, ["first"]);
  assert.match(
    errors.map(({ message }) => message).join(),
    '"stuck" could not be undone within 5 ms',
  );
});

test("a registration after disposal is undone at once", async () => {
  const scope = new Scope();
  await scope.dispose();
  let undone = false;
  scope.add("late", () => {
    undone = true;
  });
  assert.ok(undone);
  assert.ok(scope.signal.aborted);
  assert.equal(scope.effects, []);
});

test("every effect ends within one tick, and before the other undos run", async () => {
  const scope = new Scope();
  const undone: string[] = [];
  let endTask = () => {};
  const task = new Promise<void>((resolve) => {
    endTask = resolve;
  });
  scope.stage("handler", () => () => void undone.push("handler"));
  scope.stage("task", () => () => {
    undone.push("task");
    return task;
  });
  scope.stage("failing", () => () => {
    throw new Error("boom");
  });
  scope.add("file", () => void undone.push("file"));
  scope.takeUp();
  const disposed = scope.dispose();
  assert.equal(undone, ["task", "handler"]);
  endTask();
  const errors = await disposed;
  assert.equal(undone, ["task", "handler", "file"]);
  assert.equal(
    errors.map(({ message }) => message),
    ["boom"],
  );
});

test.run();
