/** The JSON of standings, which seldom change: to compare them takes less time than to write them. */

export interface Standing {
  name: string;
  state: string;
  error?: string | undefined;
}

/** What it returns writes a list as JSON, and remembers the last one. */
export function standingsText(): (list: readonly Standing[]) => string {
  let last: readonly Standing[] = [];
  let text = "[]";
  return (list) => {
    if (list.length !== last.length || list.some((one, i) => !isSame(one, last[i]!))) {
      text = JSON.stringify(list.map(({ name, state, error }) => ({ name, state, error })));
      last = list;
    }
    return text;
  };
}

const isSame = (a: Standing, b: Standing): boolean =>
  a.name === b.name && a.state === b.state && a.error === b.error;
