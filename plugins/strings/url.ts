/**
 * The URL, or undefined where it is none. Not `URL.canParse`: Node 20 takes a text with letters like `ü` for UTF-8 there
 * once that call is optimized, and refuses what it took before.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
