/** Runs checks one by one and reports them. `package-task.ts` parses the report. */
import assert from "node:assert/strict";

export { assert };
export const url = process.env.PORTICO_URL;
export const token = process.env.PORTICO_TOKEN;
export const model = process.env.PORTICO_MODEL;
export const wayIn = process.env.PORTICO_WAY_IN;
export const unknownModel = "up/no-such-model";
/** The upstream's usage in every answer. */
export const tokens = { prompt: 20, cached: 5, completion: 7 };
export const cityTool = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

/** Runs `checks`, which are functions by name. */
export async function run(checks) {
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      console.log(`ok: ${name}`);
    } catch (error) {
      console.log(`FAULT: ${name}: ${error.stack}`);
    }
  }
  console.log("done");
}

/** Returns the error that a request raises. */
export async function raised(request) {
  try {
    await request();
  } catch (error) {
    return error;
  }
  throw new Error("The request raised no error.");
}
