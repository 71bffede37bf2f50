import Sortable from "sortablejs";

/** With `?handle`, only a handle starts the drag. With `?fallback`, the library uses pointer events, not HTML5 drag. */
const { handle, fallback } = Object.fromEntries(new URLSearchParams(location.search));
const list = document.createElement("ul");
for (const name of ["Alpha", "Beta", "Gamma"]) {
  const item = document.createElement("li");
  item.dataset.id = name;
  item.style.cssText = "padding:8px;border:1px solid";
  item.innerHTML =
    handle === undefined
      ? name
      : `<button class="handle" aria-label="Move ${name}">::</button> ${name}`;
  list.append(item);
}
document.getElementById("root").append(list);
const sortable = new Sortable(list, {
  animation: 150,
  forceFallback: fallback !== undefined,
  ...(handle !== undefined && { handle: ".handle" }),
});
window.held = () => sortable.toArray();
