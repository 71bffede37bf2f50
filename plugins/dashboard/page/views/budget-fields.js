/** The fields of a budget in a form: an amount, and its period. */

export const budgetFields = (budget) => [
  { name: "usd", label: "Budget in US dollars", kind: "number", value: budget?.usd },
  {
    name: "per",
    label: "Budget per",
    kind: "choice",
    options: ["day", "month"],
    value: budget?.per ?? "month",
    when: ({ usd }) => usd !== "",
  },
];

/** Returns the values of the form without the name, and with the two budget fields as one member. */
export function limitsOf({ usd, per, name: _name, ...limits }) {
  return { ...limits, budget: usd === undefined ? undefined : { usd, per } };
}
