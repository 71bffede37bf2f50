import type { HookHandler } from "portico";

const handler: HookHandler<"agent:bootstrap"> = (event) => {
  const today = event.timestamp.toISOString().slice(0, 10);
  const content = `Today is ${today}. Never send mail without asking first. Prices are in euros.`;
  event.context.bootstrapFiles = [
    ...event.context.bootstrapFiles,
    { name: "HOUSE-RULES.md", path: "hook:house-rules", content, missing: false },
  ];
};

export default handler;
