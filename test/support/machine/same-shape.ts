/** Whether the engine has two objects in one shape (its hidden class). */
import { setFlagsFromString } from "node:v8";

export function sameShape(a: object, b: object): boolean {
  setFlagsFromString("--allow-natives-syntax");
  return new Function("a", "b", "return %HaveSameMap(a, b)")(a, b);
}
