/** Hooks for `startGateway({ files })`. */

/** The two files of a hook in the home: `body` is its handler's, with `event` and `ctx`. */
export function hookFiles(
  name: string,
  body: string,
  { events = "message:received", description = name } = {},
): Record<string, string> {
  return {
    [`hooks/${name}/HOOK.md`]: `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\nevents: [${events}]\n---\n`,
    [`hooks/${name}/handler.ts`]: `export default async (event, ctx) => {\n${body}\n};\n`,
  };
}

/** A hook that does what a message asks for: "reply please", "block please", "push please" or "change please". */
export const obligingHook = hookFiles(
  "words",
  `const { content } = event.context;
   if (content === "reply please") return { reply: "by a hook" };
   if (content === "block please") return { block: "not here" };
   if (content === "push please") event.messages.push("first");
   if (content === "change please") event.context.content = "changed";`,
);
