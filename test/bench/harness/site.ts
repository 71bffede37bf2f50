/** Pages for a browser. A thread of their own serves them, so that the measuring thread does not pay for that. */
import { Worker } from "node:worker_threads";

const SITE = `
const { parentPort } = require("node:worker_threads");
const many = (count, part) => Array.from({ length: count }, (_, i) => part(i)).join("");
const page = "<title>Bench</title>" + many(60, (i) => "<section><h2>Part " + i + "</h2><p>Some text " + i + '</p><a href="#' + i + '">Link ' + i + '</a><input aria-label="Field ' + i + '"></section>')
  + "<button onclick=\\"this.textContent='Press'\\">Press</button>";
const scripts = "<title>Many</title>" + many(100, (i) => '<script src="/s/' + i + '.js"></script>');
const server = require("node:http").createServer((req, res) => {
  const script = req.url.startsWith("/s/");
  res.writeHead(200, { "content-type": script ? "text/javascript" : "text/html", "cache-control": "no-store" });
  res.end(script ? "window.n=(window.n||0)+1" : req.url === "/many" ? scripts : page);
});
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

/**
 * Starts the site, and returns its address. `/` has 60 sections and a button `Press`, `/many` has 100 scripts. It ends with
 * the process.
 */
export async function startSite(): Promise<string> {
  const worker = new Worker(SITE, { eval: true });
  const port = await new Promise<number>((resolve, reject) =>
    worker.once("error", reject).once("message", resolve),
  );
  worker.unref();
  return `http://127.0.0.1:${port}`;
}
