/** Caches the JSON of standings. They seldom change, and comparing them is faster than serialising them. */

export interface Standing {
  name: string;
  state: string;
  error?: string | undefined;
}

/** Returns a function that serialises a list as JSON and caches the last result. */
export function cachedStandingsJson(): (list: readonly Standing[]) => string {
  let last: readonly Standing[] = [];
  let text = "[]";
  return (list) => {
    if (list.length !== last.length || list.some((standing, i) => !isSame(standing, last[i]!))) {
      text = JSON.stringify(list.map(({ name, state, error }) => ({ name, state, error })));
      last = list;
    }
    return text;
  };
}

const isSame = (a: Standing, b: Standing): boolean =>
  a.name === b.name && a.state === b.state && a.error === b.error;
