/** Tests whether two objects have the same shape (V8's hidden class). */
import { setFlagsFromString } from "node:v8";

export function sameShape(a: object, b: object): boolean {
  setFlagsFromString("--allow-natives-syntax");
  return new Function("a", "b", "return %HaveSameMap(a, b)")(a, b);
}
