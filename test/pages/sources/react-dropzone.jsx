import { useState } from "react";
import { useDropzone } from "react-dropzone";
import { createRoot } from "react-dom/client";

/** With `?noClick`, the zone opens no chooser and accepts only drops. */
const noClick = new URLSearchParams(location.search).has("noClick");

function Zone() {
  const [files, setFiles] = useState([]);
  window.held = () => files;
  const onDrop = (accepted) => setFiles(accepted.map(({ name, size }) => `${name} ${size}`));
  const { getRootProps, getInputProps } = useDropzone({ onDrop, noClick, noKeyboard: noClick });
  return (
    <div {...getRootProps()} style={{ padding: 40, border: "1px dashed" }}>
      <input {...getInputProps()} />
      <p>Drop files here</p>
    </div>
  );
}

createRoot(document.getElementById("root")).render(<Zone />);
