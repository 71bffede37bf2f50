import type { HookHandler } from "portico";

const handler: HookHandler<"message:received"> = (event, ctx) => {
  const refusedTopics = Array.isArray(ctx.config["refused"])
    ? ctx.config["refused"].map(String)
    : ["politics", "religion"];
  const words = new Set(event.context.content.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  const topic = refusedTopics.find((each) => words.has(each.toLowerCase()));
  if (topic === undefined) return;
  ctx.log.info({ topic }, "not our topic");
  return { reply: String(ctx.config["answer"] ?? `I do not talk about ${topic} here.`) };
};

export default handler;
