/**
 * Uses the `openai` package with Portico: only the base URL and the key differ.
 *
 *   PORTICO_URL=http://127.0.0.1:18789 PORTICO_TOKEN=… MODEL=echo npx tsx examples/openai-client.ts
 */
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: `${process.env["PORTICO_URL"] ?? "http://127.0.0.1:18789"}/v1`,
  apiKey: process.env["PORTICO_TOKEN"],
});
const model = process.env["MODEL"] ?? "echo";

const answer = await client.chat.completions.create({
  model,
  messages: [{ role: "user", content: "Hello, Portico" }],
});
console.log("answer:", answer.choices[0]?.message.content);

const stream = await client.chat.completions.create({
  model,
  messages: [{ role: "user", content: "one two three" }],
  stream: true,
});
const pieces: string[] = [];
for await (const chunk of stream) pieces.push(chunk.choices[0]?.delta.content ?? "");
console.log("stream:", pieces.filter(Boolean).join("|"));

const toolAnswer = await client.chat.completions.create({
  model,
  messages: [{ role: "user", content: "Please call get_weather for Lisbon" }],
  tools: [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "The weather of a city",
        parameters: {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
        },
      },
    },
  ],
});
const call = toolAnswer.choices[0]?.message.tool_calls?.[0];
console.log(
  "tool:",
  call?.type === "function" ? `${call.function.name} ${call.function.arguments}` : "none",
);
