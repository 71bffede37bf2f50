/**
 * A small web shop for trying out the browser: a form, a page that confirms the order, and a receipt to download.
 *   npx tsx examples/tea-shop.ts          (PORT selects another port than 8080)
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const shop = `<title>Tea shop</title>
<form action="/order">
  <input name="name" aria-label="Name">
  <input name="amount" type="number" aria-label="Amount">
  <input name="gift" type="checkbox" aria-label="As a gift">
  <button>Order</button>
</form>`;

const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

function orderPage(order: URLSearchParams): string {
  const name = escapeHtml(order.get("name") ?? "");
  const amount = escapeHtml(order.get("amount") ?? "");
  return `<title>Thank you</title>
<h1>Thank you, ${name}</h1>
<p>${amount} coming.</p>
<a href="/receipt.csv?amount=${encodeURIComponent(order.get("amount") ?? "")}">Download the receipt</a>`;
}

function sendReceipt(response: ServerResponse, order: URLSearchParams): void {
  response.writeHead(200, {
    "content-type": "text/csv",
    "content-disposition": "attachment; filename=receipt.csv",
  });
  response.end(`item,amount\ntea,${order.get("amount")}\n`);
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
  if (pathname === "/receipt.csv") return sendReceipt(response, searchParams);
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end(pathname === "/order" ? orderPage(searchParams) : shop);
});

server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(`http://127.0.0.1:${port}/`);
});
