import tinymce from "tinymce";
import "tinymce/icons/default";
import "tinymce/themes/silver";
import "tinymce/models/dom";
import "tinymce/skins/ui/oxide/skin.js";
import "tinymce/skins/ui/oxide/content.js";
import "tinymce/skins/content/default/content.js";

const area = document.createElement("textarea");
area.value = "<p>before it was</p>";
document.getElementById("root").append(area);
await tinymce.init({ target: area, license_key: "gpl", menubar: false, promotion: false });
window.held = () => tinymce.activeEditor.getContent({ format: "text" }).replace(/\n\n/g, "\n");
