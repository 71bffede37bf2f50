import { Checkbox, DatePicker, Input, InputNumber, Select, Switch } from "antd";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const CITIES = ["Berlin", "Lisbon", "Oslo"].map((name) => ({
  value: name.toLowerCase(),
  label: name,
}));

function Form() {
  const [state, setState] = useState({ name: "old name", city: null, cities: [], date: null });
  window.held = () => state;
  const set = (key) => (value) => setState((before) => ({ ...before, [key]: value }));
  return (
    <div style={{ width: 400 }}>
      <Input
        aria-label="Name"
        value={state.name}
        onChange={(event) => set("name")(event.target.value)}
      />
      <Input.TextArea aria-label="Notes" onChange={(event) => set("notes")(event.target.value)} />
      <Input.Password aria-label="Secret" onChange={(event) => set("secret")(event.target.value)} />
      <Input.Search aria-label="Query" onSearch={set("query")} />
      <InputNumber aria-label="Amount" onChange={set("amount")} />
      <Select aria-label="City" style={{ width: 200 }} options={CITIES} onChange={set("city")} />
      <Select
        aria-label="Search city"
        showSearch
        optionFilterProp="label"
        style={{ width: 200 }}
        options={CITIES}
        onChange={set("searched")}
      />
      <Select
        aria-label="Cities"
        mode="multiple"
        style={{ width: 200 }}
        options={CITIES}
        onChange={set("cities")}
      />
      <DatePicker aria-label="Day" onChange={(_, text) => set("date")(text)} />
      <DatePicker
        aria-label="Picked day"
        defaultPickerValue={undefined}
        onChange={(_, text) => set("picked")(text)}
      />
      <Switch aria-label="On" onChange={set("on")} />
      <Checkbox onChange={(event) => set("agreed")(event.target.checked)}>Agreed</Checkbox>
    </div>
  );
}

createRoot(document.getElementById("root")).render(<Form />);
