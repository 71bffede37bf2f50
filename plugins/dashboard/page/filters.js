/** A form of filters above a list. The filters are part of the address, so that links contain them. */
import { h, setQuery } from "./dom.js";

const TYPING_MS = 300;

/**
 * Defines filters. `choices` are `[name, title, values]`, `texts` are `[name, title]`. Returns `form(query)`, which creates
 * the form, and the `names` of all filters.
 */
export function filters({ choices, texts }) {
  return {
    names: [...choices, ...texts].map(([name]) => name),
    form: (query) => formOf(choices, texts, query),
  };
}

function formOf(choices, texts, query) {
  let timer;
  let changes = {};
  const apply = () => {
    setQuery(changes);
    changes = {};
  };
  const change = ({ target, type }) => {
    changes[target.name] = target.value.trim();
    clearTimeout(timer);
    timer = setTimeout(apply, type === "input" ? TYPING_MS : 0);
  };
  const labelled = (title, control) => h("label", {}, h("span", {}, title), control);
  const selects = choices.map(([name, title, values]) =>
    labelled(title, choiceOf(name, values, query.get(name), change)),
  );
  const inputs = texts.map(([name, title]) =>
    labelled(title, h("input", textAttributes(name, query.get(name), change))),
  );
  return h(
    "section",
    {},
    h("form", { class: "filters", onsubmit: (event) => event.preventDefault() }, selects, inputs),
  );
}

function choiceOf(name, values, current, onchange) {
  return h(
    "select",
    { name, onchange },
    h("option", { value: "" }, "any"),
    values.map((value) => h("option", { value, selected: value === current }, value)),
  );
}

function textAttributes(name, value, oninput) {
  return { name, type: "search", autocomplete: "off", spellcheck: "false", value, oninput };
}
