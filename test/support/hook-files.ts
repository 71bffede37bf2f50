/** Hooks for `startGateway({ files })`. */

/**
 * Code with a loop without an end, which leaves the processor to others until a limit of seconds ends it: it waits once
 * in so many rounds as the loop guard looks at the clock.
 */
export const endlessLoop =
  "for (let i = 0, idle = new Int32Array(new SharedArrayBuffer(4)); ; i++) if (i % 256 === 0) Atomics.wait(idle, 0, 0, 5);";

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
