/** Hooks for `startGateway({ files })`. */

/**
 * Code with an endless loop, which the loop guard ends after seconds. It sleeps in as many rounds as the guard reads the
 * clock, so that other processes can use the processor meanwhile.
 */
export const endlessLoop =
  "for (let i = 0, idle = new Int32Array(new SharedArrayBuffer(4)); ; i++) if (i % 256 === 0) Atomics.wait(idle, 0, 0, 5);";

/** Returns the two files of a hook in the home. `body` is the body of its handler, which can use `event` and `ctx`. */
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

/** A hook that performs what a message requests: "reply please", "block please", "push please" or "change please". */
export const scriptedHook = hookFiles(
  "words",
  `const { content } = event.context;
   if (content === "reply please") return { reply: "by a hook" };
   if (content === "block please") return { block: "not here" };
   if (content === "push please") event.messages.push("first");
   if (content === "change please") event.context.content = "changed";`,
);
