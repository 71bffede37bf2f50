/** Search over all pages. The index is loaded when the user first types. */
import MiniSearch from "minisearch";
import { indexOptions, searchOptions } from "./search-options.ts";

const input = document.getElementById("query");
const results = document.getElementById("results");
let loading;

function loadIndex() {
  loading ??= fetch("/docs/search.json")
    .then((response) => response.text())
    .then((text) => MiniSearch.loadJSON(text, indexOptions));
  return loading;
}

function show(hits) {
  const rows = hits.slice(0, 12).map(({ title, url, page }) => {
    const link = document.createElement("a");
    link.href = url;
    link.textContent = title;
    const where = document.createElement("small");
    where.textContent = page;
    link.append(where);
    const row = document.createElement("li");
    row.append(link);
    return row;
  });
  results.replaceChildren(...rows);
}

input.addEventListener("input", async () => {
  const query = input.value.trim();
  if (query === "") return show([]);
  const index = await loadIndex();
  if (input.value.trim() === query) show(index.search(query, searchOptions));
});
input.addEventListener("keydown", (event) => {
  if (event.key === "Escape") show([]);
  if (event.key !== "ArrowDown") return;
  event.preventDefault();
  results.querySelector("a")?.focus();
});
