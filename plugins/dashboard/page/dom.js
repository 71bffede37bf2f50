/** Everything that pages are built with. */
export * from "./address.js";
export * from "./elements.js";
export * from "./feedback.js";
export * from "./format.js";
export * from "./layout.js";
export * from "./table.js";
