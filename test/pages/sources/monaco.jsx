import * as monaco from "monaco-editor/editor/editor.api.js";

const place = document.createElement("div");
place.style.cssText = "width:600px;height:200px";
document.getElementById("root").append(place);
const { editContext } = Object.fromEntries(new URLSearchParams(location.search));
const editor = monaco.editor.create(place, {
  value: "before it was",
  language: "plaintext",
  ariaLabel: "Code",
  editContext: editContext !== "false",
});
window.held = () => editor.getValue();
