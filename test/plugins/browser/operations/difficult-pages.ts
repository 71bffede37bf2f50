/** Pages that block, hang, open dialogs or windows, or never load. */
import { type SharedBrowser, type Page, type Site, sharedBrowser, startSite } from "../support.ts";

const PAGES: Record<string, Page> = {
  "/": `<title>Home</title><button id=b>Same</button><a href="/two">Go two</a><a href="/slow">Go slow</a>`,
  "/two": "<title>Two</title><button>Same</button>",
  "/slow": (_req, res) =>
    void setTimeout(
      () =>
        res
          .writeHead(200, { "content-type": "text/html" })
          .end("<title>Slow</title><button>At last</button>"),
      400,
    ),
  "/block": `<title>Block</title><button disabled>Disabled</button><button aria-disabled="true">Aria off</button><fieldset disabled><input aria-label="In fieldset"></fieldset>
    <input aria-label="Read only" readonly value="x"><div role="textbox" aria-label="Fake box">t</div><input type="checkbox" aria-label="Tick">
    <div style="position:relative;width:200px;height:40px"><button>Covered</button><div id="veil" class="overlay" style="position:absolute;inset:0"></div></div>
    <button id="late" disabled>Late</button><button style="visibility:hidden" id="ghost">Ghost</button><button onclick="this.remove()">Vanishing</button>
    <iframe srcdoc="<button>Inner</button>"></iframe><button onclick="document.querySelector('iframe').remove()">Drop frame</button>
    <script>setTimeout(()=>late.disabled=false,600)</script>`,
  "/moving": `<title>Moving</title><button id="late" style="position:relative" disabled>Late</button><script>
    function begin(){const moves=setInterval(()=>{late.style.left=late.style.left?'':'20px'},16);
    setTimeout(()=>late.disabled=false,700);setTimeout(()=>clearInterval(moves),2500)}</script>`,
  "/never": () => {},
  "/leaves": `<title>Leaves</title><a href="/never">Away</a><button onclick="document.title='clicked'">Stay</button>`,
  "/deaf": `<title>Deaf</title><button>Beside</button><iframe src="/never"></iframe>`,
  "/freezes": (_req, res) => void res.end(),
  "/loop":
    "<title>Loop</title><button onclick='navigator.sendBeacon(`/freezes`);for(;;){}'>Freeze</button><button onclick='for(;;)alert(1)'>Nag</button>",
  "/hang": "<title>Hang</title><script>for(;;){}</script>",
  "/dialogs": `<title>Dialogs</title><button onclick="document.title=String(confirm('sure?'))">Confirm</button><button onclick="document.title=String(prompt('name?','dflt'))">Prompt</button>
    <button onclick="onbeforeunload=(e)=>e.preventDefault()">Hold</button><button onclick="setTimeout(()=>{alert('later');told=true},150)">Later</button>`,
  "/windows": `<title>Windows</title><button onclick="for(let i=0;i<200;i++)window.open('/two?'+i,'w'+i)">Many</button><button onclick="window.open('/two')">Popup</button>`,
  "/self": "<title>Self</title><button onclick='window.close()'>Close me</button>",
  "/open-self": `<title>Opener</title><button onclick="window.open('/self')">Open</button>`,
};

/** A site of them, and the browser that files share, which may have six tabs. */
export async function startDifficult(): Promise<{ site: Site; browser: SharedBrowser }> {
  const site = await startSite(PAGES);
  return { site, browser: await sharedBrowser() };
}
