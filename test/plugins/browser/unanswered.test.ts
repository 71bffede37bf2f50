import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Answer, type BrowserGateway, type Site, startBrowser, startSite } from "./support.ts";

const test = suite("browser: servers that never answer");
let browser: BrowserGateway;
let site: Site;

test.before(async () => {
  site = await startSite({
    "/": `<title>Home</title><button id=b>Same</button><a href="/two">Go two</a><a href="/slow">Go slow</a>`,
    "/two": "<title>Two</title><button>Same</button>",
    "/slow": (_req, res) =>
      void setTimeout(
        () => res.writeHead(200, { "content-type": "text/html" }).end("<title>Slow</title><button>At last</button>"),
        400,
      ),
    "/block": `<title>Block</title><button disabled>Disabled</button><button aria-disabled="true">Aria off</button><fieldset disabled><input aria-label="In fieldset"></fieldset>
      <input aria-label="Read only" readonly value="x"><div role="textbox" aria-label="Fake box">t</div><input type="checkbox" aria-label="Tick">
      <div style="position:relative;width:200px;height:40px"><button>Covered</button><div id="veil" class="overlay" style="position:absolute;inset:0"></div></div>
      <button id="late" disabled>Late</button><button style="visibility:hidden" id="ghost">Ghost</button><button onclick="this.remove()">Vanishing</button>
      <iframe srcdoc="<button>Inner</button>"></iframe><button onclick="document.querySelector('iframe').remove()">Drop frame</button>
      <script>setTimeout(()=>late.disabled=false,600)</script>`,
    "/never": () => {},
    "/leaves": `<title>Leaves</title><a href="/never">Away</a><button onclick="document.title='clicked'">Stay</button>`,
    "/deaf": `<title>Deaf</title><button>Beside</button><iframe src="/never"></iframe>`,
    "/loop":
      "<title>Loop</title><button onclick='for(;;){}'>Freeze</button><button onclick='for(;;)alert(1)'>Nag</button>",
    "/hang": "<title>Hang</title><script>for(;;){}</script>",
    "/dialogs": `<title>Dialogs</title><button onclick="document.title=String(confirm('sure?'))">Confirm</button><button onclick="document.title=String(prompt('name?','dflt'))">Prompt</button>
      <button onclick="onbeforeunload=(e)=>e.preventDefault()">Hold</button><button onclick="setTimeout(()=>alert('later'),150)">Later</button>`,
    "/windows": `<title>Windows</title><button onclick="for(let i=0;i<200;i++)window.open('/two?'+i,'w'+i)">Many</button><button onclick="window.open('/two')">Popup</button>`,
    "/self": "<title>Self</title><button onclick='window.close()'>Close me</button>",
    "/open-self": `<title>Opener</title><button onclick="window.open('/self')">Open</button>`,
  });
  browser = await startBrowser({ maxTabs: 6 });
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

const failed = (answer: Answer, status: number, code: string, words?: string | RegExp): void => {
  assert.equal([answer.status, answer.body.error?.code], [status, code], JSON.stringify(answer.body));
  if (words !== undefined) assert.match(answer.body.error.message, words);
  assert.not.match(JSON.stringify(answer.body), /\\u001b|\n\s+at |node_modules/);
};

test("a server that never answers: the page that is there can be used again after a while", async () => {
  await browser.visit(`${site.url}/leaves`);
  const stay = await browser.ref("Stay");
  assert.is((await browser.act("click", { ref: await browser.ref("Away") })).status, 200);
  failed(await browser.get("/snapshot", { timeoutMs: 300 }), 504, "timeout", "on its way");
  assert.is((await browser.act("click", { ref: stay })).status, 200);
  assert.is((await browser.get("/snapshot")).body.title, "clicked");
});

test("a frame that never answers is left out, not waited for", async () => {
  await browser.post("/navigate", { url: `${site.url}/deaf`, waitUntil: "commit" });
  await browser.act("wait", { text: "Beside" });
  const { status, body } = await browser.get("/snapshot");
  assert.is(status, 200);
  assert.match(body.snapshot, /button "Beside" \[ref=\d+\]/);
  assert.match(body.snapshot, /- iframe/);
});

test.run();
