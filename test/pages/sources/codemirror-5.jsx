import CodeMirror from "codemirror5";
import "codemirror5/lib/codemirror.css";

const root = document.getElementById("root");
const { inputStyle } = Object.fromEntries(new URLSearchParams(location.search));
const options = { value: "before it was", lineNumbers: true, screenReaderLabel: "Code" };
const editor = CodeMirror(root, inputStyle === undefined ? options : { ...options, inputStyle });
window.held = () => editor.getValue();
