/** Files that are attached to a message: images, texts and documents, as parts of its content. */
import { bytes, h, showError } from "../dom.js";

const MAX_BYTES = 20 * 1024 * 1024;

export class Attachments {
  constructor() {
    this.files = [];
    this.list = h("ul", { class: "attachments", "aria-label": "Attachments" });
    const picker = h("input", {
      type: "file",
      multiple: true,
      class: "visually-hidden",
      "aria-label": "Attach files",
      onchange: () => {
        this.add([...picker.files]);
        picker.value = "";
      },
    });
    this.input = h("label", { class: "button" }, "Attach", picker);
  }

  add(files) {
    const tooLarge = files.filter(({ size }) => size > MAX_BYTES);
    if (tooLarge.length > 0) {
      const names = tooLarge.map(({ name }) => name).join(", ");
      showError(new Error(`${names}: too large; a file may have at most ${bytes(MAX_BYTES)}.`));
    }
    this.files.push(...files.filter((file) => !tooLarge.includes(file)));
    this.draw();
  }

  clear() {
    this.files = [];
    this.draw();
  }

  draw() {
    this.list.replaceChildren(...this.files.map((file) => this.itemOf(file)));
  }

  itemOf(file) {
    const remove = () => {
      this.files = this.files.filter((each) => each !== file);
      this.draw();
    };
    return h(
      "li",
      {},
      `${file.name}, ${bytes(file.size)} `,
      h("button", { type: "button", onclick: remove, "aria-label": `Remove ${file.name}` }, "×"),
    );
  }
}

/** Returns the content of a message: only the text, or a part for each file before it. Only this page reads `name`. */
export async function partsOf(text, files) {
  if (files.length === 0) return text;
  const parts = await Promise.all(files.map(partOf));
  return text === "" ? parts : [...parts, { type: "text", text }];
}

const TEXT = /^text\/|json|xml|yaml|javascript|typescript|csv/;

async function partOf(file) {
  const { name, type } = file;
  if (type.startsWith("image/"))
    return { type: "image_url", image_url: { url: await dataUrl(file) }, name };
  const isText = TEXT.test(type) || /\.(md|ts|js|py|log|ya?ml|toml|sql|sh)$/i.test(name);
  if (isText) return { type: "text", text: `${name}:\n\n${await file.text()}` };
  return { type: "file", file: { filename: name, file_data: await dataUrl(file) } };
}

function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}
