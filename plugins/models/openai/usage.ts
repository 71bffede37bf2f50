/** Finds and adds the usage in the bytes of requests and responses that are not parsed. */
import type { Usage } from "portico/provider";

/**
 * Parses the last `"usage": {…}` of a response's JSON text. Inside a string its quotes would be escaped, so a text of
 * the model cannot be mistaken for it.
 */
export function usageIn(text: string): Usage | undefined {
  const at = text.lastIndexOf('"usage"');
  if (at === -1) return undefined;
  const from = text.indexOf("{", at);
  if (from === -1 || !/^\s*:\s*$/.test(text.slice(at + 7, from))) return undefined;
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 123) depth++;
    else if (code === 125 && --depth === 0) return parseUsage(text.slice(from, i + 1));
  }
  return undefined;
}

function parseUsage(text: string): Usage | undefined {
  try {
    return JSON.parse(text) as Usage;
  } catch {
    return undefined;
  }
}

const OPTION = ',"stream_options":{"include_usage":true}}';

/** Returns a request's bytes with `stream_options.include_usage` set; undefined if they have stream options already. */
export function requestUsage(
  bytes: Buffer | string,
  options: unknown,
): Buffer | string | undefined {
  if (options !== undefined) return undefined;
  const at = bytes.lastIndexOf("}");
  if (at === -1) return undefined;
  if (typeof bytes === "string") return bytes.slice(0, at) + OPTION;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(OPTION)]);
}
