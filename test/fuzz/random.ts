/** Seeded randomness and malformed values. The same seed produces the same run on every machine. */

export interface Random {
  /** Returns an integer from 0 to below `n`. */
  below(n: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Implements mulberry32, whose 32 bits of state are enough to reproduce a request. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    below: (n) => Math.floor(next() * n),
    chance: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)] as (typeof items)[number],
  };
}

const nastyTexts = [
  "",
  " ",
  "\u0000",
  "\ud800",
  "\udfff\ud800",
  "\u001b[31m",
  "\u202e",
  "\ufeff",
  "__proto__",
  "constructor",
  "toString",
  "../../etc/passwd",
  "%00",
  "%",
  "%ff%fe",
  "${PATH}",
  "{body.a}",
  "^(a+)+b$",
  "-1",
  "1e999",
  "NaN",
  "9007199254740993",
  "data:image/png;base64,",
  "http://127.0.0.1:1/",
  "file:///etc/passwd",
  "</script>",
  "😀",
  "a".repeat(300),
];

export function randomText(random: Random): string {
  if (random.chance(0.5)) return random.pick(nastyTexts);
  const length = random.below(24);
  let text = "";
  for (let i = 0; i < length; i++)
    text += String.fromCharCode(random.below(random.chance(0.9) ? 0x250 : 0x10000));
  return text;
}

/** Returns any JSON value, sometimes with deep nesting or odd keys. */
export function randomValue(random: Random, words: readonly string[], depth = 0): unknown {
  const kind = random.below(depth > 3 ? 6 : 9);
  if (kind === 0) return null;
  if (kind === 1) return random.chance(0.5);
  if (kind === 2) return random.pick([0, -1, 1, 0.5, 1e21, -1e-7, 2 ** 53, 65536]);
  if (kind <= 4) return randomText(random);
  if (kind === 5) return random.pick(words);
  if (kind === 6)
    return Array.from({ length: random.below(4) }, () => randomValue(random, words, depth + 1));
  return Object.fromEntries(
    Array.from({ length: random.below(5) }, () => [
      random.chance(0.8) ? random.pick(words) : randomText(random),
      randomValue(random, words, depth + 1),
    ]),
  );
}

/** Returns a text with a few characters changed, removed, repeated or inserted. */
export function mutate(random: Random, text: string): string {
  let result = text;
  for (let times = 1 + random.below(4); times > 0; times--) {
    const at = random.below(result.length + 1);
    const end = Math.min(result.length, at + random.below(12));
    const kind = random.below(5);
    if (kind === 0) result = result.slice(0, at);
    else if (kind === 1) result = result.slice(0, at) + result.slice(end);
    else if (kind === 2) result = result.slice(0, end) + result.slice(at);
    else if (kind === 3) result = result.slice(0, at) + randomText(random) + result.slice(at);
    else
      result =
        result.slice(0, at) + random.pick([..."{}[]\"',:<>/&=;%\\\r\n\u0000"]) + result.slice(end);
  }
  return result;
}
