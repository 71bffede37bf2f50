/** Sends an issue as GitHub does, with a signature of the body's exact bytes. */
import { createHmac, randomUUID } from "node:crypto";

const url = `${process.env["PORTICO_URL"] ?? "http://127.0.0.1:18789"}/hooks/github-issue`;
const body = JSON.stringify({
  action: "opened",
  repository: { name: "portico" },
  sender: { login: "ada", type: process.env["SENDER_TYPE"] ?? "User" },
  issue: {
    number: 7,
    title: "The door squeaks",
    body: "Since this morning.",
    user: { login: "ada" },
  },
});
const signature = createHmac("sha256", process.env["GITHUB_WEBHOOK_SECRET"] ?? "")
  .update(body)
  .digest("hex");
const answer = await fetch(url, {
  method: "POST",
  body,
  headers: {
    "content-type": "application/json",
    "x-github-event": "issues",
    "x-github-delivery": process.env["DELIVERY_ID"] ?? randomUUID(),
    "x-hub-signature-256": `sha256=${signature}`,
  },
});
console.log(answer.status, await answer.text());
