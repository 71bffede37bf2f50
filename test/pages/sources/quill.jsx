import Quill from "quill";
import "quill/dist/quill.snow.css";

const place = document.createElement("div");
place.innerHTML = "<p>before it was</p>";
document.getElementById("root").append(place);
const quill = new Quill(place, { theme: "snow", placeholder: "Write a story" });
window.held = () => quill.getText().trimEnd();
window.formats = () => quill.getContents().ops;
