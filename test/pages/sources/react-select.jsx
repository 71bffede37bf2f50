import { useState } from "react";
import { createRoot } from "react-dom/client";
import Select from "react-select";
import CreatableSelect from "react-select/creatable";

const optionsOf = (names) => names.map((name) => ({ value: name.toLowerCase(), label: name }));
const FRUIT = optionsOf(["Apple", "Banana", "Cherry"]);
const COLORS = optionsOf(["Red", "Green", "Blue"]);

function Form() {
  const [fruit, setFruit] = useState(null);
  const [colors, setColors] = useState([]);
  const [tags, setTags] = useState([]);
  window.held = () => ({
    fruit: fruit?.value ?? null,
    colors: colors.map(({ value }) => value),
    tags: tags.map(({ label }) => label),
  });
  return (
    <>
      <Select aria-label="Fruit" options={FRUIT} value={fruit} onChange={setFruit} />
      <Select aria-label="Colors" isMulti options={COLORS} value={colors} onChange={setColors} />
      <CreatableSelect aria-label="Tags" isMulti value={tags} onChange={setTags} />
    </>
  );
}

createRoot(document.getElementById("root")).render(<Form />);
