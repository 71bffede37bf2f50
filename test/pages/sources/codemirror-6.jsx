import { basicSetup, EditorView } from "codemirror";

const editor = new EditorView({
  doc: "before it was",
  extensions: [basicSetup],
  parent: document.getElementById("root"),
});
window.held = () => editor.state.doc.toString();
