import type { HookHandler } from "portico";

const handler: HookHandler<"message:received"> = (event, ctx) => {
  const wish = String(ctx.config["wish"] ?? "Please answer briefly and kindly.");
  event.context.content = `${event.context.content}\n\n${wish}`;
};

export default handler;
