import { DndContext, KeyboardSensor, PointerSensor, useSensor, useSensors } from "@dnd-kit/core";
import {
  arrayMove,
  SortableContext,
  useSortable,
  verticalListSortingStrategy,
} from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { useState } from "react";
import { createRoot } from "react-dom/client";

/** With `?handle`, only a handle starts the drag. With `?hold=MS`, the item must be held for that time. */
const { handle, hold } = Object.fromEntries(new URLSearchParams(location.search));

function Item({ id }) {
  const { attributes, listeners, setNodeRef, transform, transition } = useSortable({ id });
  const style = {
    transform: CSS.Transform.toString(transform),
    transition,
    padding: 8,
    border: "1px solid",
  };
  if (handle === undefined)
    return (
      <div ref={setNodeRef} style={style} {...attributes} {...listeners}>
        {id}
      </div>
    );
  return (
    <div ref={setNodeRef} style={style}>
      <button type="button" aria-label={`Move ${id}`} {...attributes} {...listeners}>
        ::
      </button>
      <span>{id}</span>
    </div>
  );
}

function List() {
  const [items, setItems] = useState(["Alpha", "Beta", "Gamma"]);
  window.held = () => items;
  const activationConstraint =
    hold === undefined ? { distance: 5 } : { delay: Number(hold), tolerance: 5 };
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint }),
    useSensor(KeyboardSensor),
  );
  const onDragEnd = ({ active, over }) => {
    if (over === null || active.id === over.id) return;
    setItems((before) => arrayMove(before, before.indexOf(active.id), before.indexOf(over.id)));
  };
  return (
    <DndContext sensors={sensors} onDragEnd={onDragEnd}>
      <SortableContext items={items} strategy={verticalListSortingStrategy}>
        {items.map((id) => (
          <Item key={id} id={id} />
        ))}
      </SortableContext>
    </DndContext>
  );
}

createRoot(document.getElementById("root")).render(<List />);
