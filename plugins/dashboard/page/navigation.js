/** The navigation: three groups of pages, next to the content or, on a narrow screen, behind a button. */
import { h, href } from "./dom.js";
import { groups } from "./pages.js";

const nav = document.getElementById("nav");
const menu = document.getElementById("menu");

export function showNavigation() {
  nav.replaceChildren(...groups.map(groupOf));
  document.body.classList.add("signed-in");
}

export function hideNavigation() {
  nav.replaceChildren();
  closeMenu();
  document.body.classList.remove("signed-in");
}

function groupOf({ title, pages }) {
  const id = `nav-${title.toLowerCase()}`;
  const items = pages
    .filter(({ of }) => !of)
    .map(({ id, title }) => h("li", {}, h("a", { href: href(id) }, title)));
  return h(
    "div",
    { class: "group" },
    h("h2", { id }, title),
    h("ul", { "aria-labelledby": id }, items),
  );
}

/** Marks the current page. */
export function markPage(id) {
  for (const link of nav.querySelectorAll("a")) {
    if (link.hash === href(id)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  closeMenu();
}

function closeMenu() {
  menu.ariaExpanded = "false";
}

menu.addEventListener("click", () => {
  menu.ariaExpanded = menu.ariaExpanded === "true" ? "false" : "true";
});
nav.addEventListener("click", closeMenu);
addEventListener("keydown", ({ key }) => {
  if (key !== "Escape" || menu.ariaExpanded !== "true") return;
  closeMenu();
  menu.focus();
});
