import type { HookHandler } from "portico";
import { answers } from "./answers.ts";

const handler: HookHandler<"message:received"> = (event, ctx) => {
  const question = event.context.content.toLowerCase();
  const known = answers.find(({ words }) => words.every((word) => question.includes(word)));
  if (!known) return;
  ctx.log.info({ words: known.words }, "answered from the list");
  return { reply: known.answer };
};

export default handler;
