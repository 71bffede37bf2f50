import { ContentState, Editor, EditorState } from "draft-js";
import "draft-js/dist/Draft.css";
import { useState } from "react";
import { createRoot } from "react-dom/client";

function Form() {
  const content = ContentState.createFromText("before it was");
  const [state, setState] = useState(() => EditorState.createWithContent(content));
  window.held = () => state.getCurrentContent().getPlainText();
  return <Editor editorState={state} onChange={setState} ariaLabel="Story" />;
}

createRoot(document.getElementById("root")).render(<Form />);
