/** The open sections of the configuration, which the tab remembers until its reader signs out. */
const KEY = "portico.configuration.open";

addEventListener("portico:signed-out", () => sessionStorage.removeItem(KEY));

const openSections = () => new Set(JSON.parse(sessionStorage.getItem(KEY) ?? "[]"));

export const isSectionOpen = (name) => openSections().has(name);

export function rememberSection(name, isOpen) {
  const names = openSections();
  if (isOpen) names.add(name);
  else names.delete(name);
  sessionStorage.setItem(KEY, JSON.stringify([...names]));
}
