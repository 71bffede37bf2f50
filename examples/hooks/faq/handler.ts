import type { HookHandler } from "portico";
import { answers } from "./answers.ts";

const handler: HookHandler<"message:received"> = (event, ctx) => {
  const question = event.context.content.toLowerCase();
  const entry = answers.find(({ words }) => words.every((word) => question.includes(word)));
  if (!entry) return;
  ctx.log.info({ words: entry.words }, "answered from the list");
  return { reply: entry.answer };
};

export default handler;
