/** The tasks on the pages, each in a new tab. */
import type { LibraryPage } from "./page.ts";

export interface Task {
  /** The name of the file in `sources/`, which is the library's name. */
  library: string;
  /** The page's query, which selects options of the library. */
  query?: string;
  what: string;
  run(page: LibraryPage): Promise<void>;
}

/** A file in the upload directory. */
export const UPLOAD = { name: "portico-pages.txt", text: "some text" };

const OLD_TEXT = "before it was";
const TEXTS = ["", "word", "two words", "first line\nsecond line\nthird line", "if (a) { b(); }"];

interface Editor {
  library: string;
  query?: string;
  /** Matches the line of the text field in the interactive view. */
  field: RegExp;
}

const EDITORS: readonly Editor[] = [
  { library: "quill", field: /textbox/ },
  { library: "tinymce", field: /Rich Text Area|textbox/ },
  { library: "draft-js", field: /textbox "Story"/ },
  { library: "codemirror-5", field: /textbox "Code"/ },
  { library: "codemirror-5", query: "?inputStyle=contenteditable", field: /textbox/ },
  { library: "codemirror-6", field: /textbox/ },
  { library: "monaco", field: /textbox "Code"/ },
  { library: "monaco", query: "?editContext=false", field: /textbox "Code"/ },
];

/** Tasks that enter each text into each editor in each way, and so replace the initial and the previous text. */
const editorTasks = EDITORS.flatMap((editor) =>
  (["type", "type slowly", "fill"] as const).map(
    (way): Task => ({
      library: editor.library,
      ...(editor.query !== undefined && { query: editor.query }),
      what: `${way}: replaces the text`,
      async run(page) {
        await page.expect(OLD_TEXT);
        for (const text of TEXTS) {
          if (way === "fill") await page.fill(editor.field, text);
          else await page.type(editor.field, text, { slowly: way === "type slowly" });
          await page.expect(text);
        }
      },
    }),
  ),
);

const SORTED = ["Beta", "Gamma", "Alpha"];
const sortTask = (
  library: string,
  query: string,
  what: string,
  from: RegExp,
  to: RegExp,
): Task => ({
  library,
  query,
  what,
  async run(page) {
    await page.drag(from, to);
    await page.expect(SORTED);
  },
});

/** `select` works only on native lists, and must not answer 200 for others. */
const refusalTask = (library: string, field: RegExp, values: string[]): Task => ({
  library,
  what: `select of ${field.source} is refused`,
  async run(page) {
    const ref = await page.ref(field);
    await page.expectRefusal("select", { ref, values });
  },
});

export const TASKS: readonly Task[] = [
  {
    library: "react-select",
    what: "one option by click",
    async run(page) {
      await page.click(/combobox "Fruit"/);
      await page.click(/option "Banana"/);
      await page.expect("banana", "fruit");
    },
  },
  {
    library: "react-select",
    what: "one option by typing",
    async run(page) {
      await page.type(/combobox "Fruit"/, "cher", { submit: true });
      await page.expect("cherry", "fruit");
    },
  },
  {
    library: "react-select",
    what: "several options by click",
    async run(page) {
      for (const color of ["Red", "Blue"]) {
        await page.click(/combobox "Colors"/);
        await page.click(new RegExp(`option "${color}"`));
      }
      await page.expect(["red", "blue"], "colors");
    },
  },
  refusalTask("react-select", /combobox "Fruit"/, ["Banana"]),
  refusalTask("react-select", /combobox "Colors"/, ["Red", "Blue"]),
  {
    library: "react-select",
    what: "new options by typing",
    async run(page) {
      for (const text of ["one", "two"]) await page.type(/combobox "Tags"/, text, { submit: true });
      await page.expect(["one", "two"], "tags");
    },
  },
  {
    library: "antd",
    what: "Input, TextArea, Password, Search, InputNumber",
    async run(page) {
      await page.type(/textbox "Name"/, "new name");
      await page.type(/textbox "Notes"/, "first\nsecond");
      await page.type(/textbox "Secret"/, "hunter2", { slowly: true });
      await page.type(/searchbox "Query"|textbox "Query"/, "cups", { submit: true });
      await page.type(/spinbutton "Amount"/, "12");
      await page.expect("new name", "name");
      await page.expect("first\nsecond", "notes");
      await page.expect("hunter2", "secret");
      await page.expect("cups", "query");
      await page.expect(12, "amount");
    },
  },
  {
    library: "antd",
    what: "Select by click",
    async run(page) {
      await page.click(/combobox "City"/);
      await page.click(/Lisbon/);
      await page.expect("lisbon", "city");
    },
  },
  refusalTask("antd", /combobox "City"/, ["Oslo"]),
  {
    library: "antd",
    what: "Select by typing",
    async run(page) {
      await page.type(/combobox "Search city"/, "Osl", { submit: true });
      await page.expect("oslo", "searched");
    },
  },
  {
    library: "antd",
    what: "Select with several values",
    async run(page) {
      await page.click(/combobox "Cities"/);
      for (const city of ["Berlin", "Oslo"]) await page.click(new RegExp(`: ${city}|"${city}"`));
      await page.expect(["berlin", "oslo"], "cities");
    },
  },
  {
    library: "antd",
    what: "DatePicker by typing",
    async run(page) {
      await page.type(/textbox "Day"/, "2026-03-14", { submit: true });
      await page.expect("2026-03-14", "date");
    },
  },
  {
    library: "antd",
    what: "DatePicker by click",
    async run(page) {
      await page.click(/textbox "Picked day"/);
      await page.click(/Today/);
      await page.expect(new Date().toISOString().slice(0, 10), "picked");
    },
  },
  {
    library: "antd",
    what: "Switch and Checkbox",
    async run(page) {
      await page.act("check", { ref: await page.ref(/switch "On"/) });
      await page.act("check", { ref: await page.ref(/checkbox "Agreed"/) });
      await page.expect(true, "on");
      await page.expect(true, "agreed");
    },
  },
  ...editorTasks,
  {
    library: "monaco",
    what: "click, then type at the focus",
    async run(page) {
      await page.click(/code/);
      await page.press("ControlOrMeta+a");
      await page.act("type", { text: "at the focus" });
      await page.expect("at the focus");
    },
  },
  {
    library: "quill",
    what: "bold by the toolbar",
    async run(page) {
      await page.click(/button "bold"/);
      await page.type(/textbox/, "bold text");
      await page.expect("bold text");
    },
  },
  sortTask("dnd-kit", "", "drag", /Alpha/, /Gamma/),
  sortTask("dnd-kit", "?hold=250", "drag of what is held first", /Alpha/, /Gamma/),
  sortTask("dnd-kit", "?handle", "drag by a handle", /Move Alpha/, /Move Gamma/),
  {
    library: "dnd-kit",
    query: "?handle",
    what: "drag by keys",
    async run(page) {
      await page.press("Space", /Move Alpha/);
      for (const key of ["ArrowDown", "Space"]) await page.press(key);
      await page.expect(["Beta", "Alpha", "Gamma"]);
    },
  },
  sortTask("sortablejs", "?handle", "drag by a handle", /Move Alpha/, /Move Gamma/),
  sortTask(
    "sortablejs",
    "?handle&fallback",
    "drag with pointer events",
    /Move Alpha/,
    /Move Gamma/,
  ),
  {
    library: "sortablejs",
    what: "drag of list items",
    async run(page) {
      await page.drag(/Alpha/, /Gamma/);
      await page.expect(SORTED);
    },
  },
  {
    library: "react-dropzone",
    what: "upload to a zone that opens a chooser",
    async run(page) {
      await page.upload(/Drop files/, [UPLOAD.name]);
      await page.expect([`${UPLOAD.name} ${UPLOAD.text.length}`]);
    },
  },
  {
    library: "react-dropzone",
    query: "?noClick",
    what: "upload to a zone that takes only drops",
    async run(page) {
      await page.upload(/Drop files/, [UPLOAD.name]);
      await page.expect([`${UPLOAD.name} ${UPLOAD.text.length}`]);
    },
  },
];
