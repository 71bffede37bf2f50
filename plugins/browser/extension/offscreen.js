// A hidden page that exists while tabs are attached. It restarts the worker as soon as it has died, and meanwhile shows
// the relay that this browser runs, by a socket that is open as long as the page exists.

let presence;

function connectToWorker() {
  const port = chrome.runtime.connect({ name: "keep-alive" });
  port.onMessage.addListener(openPresence);
  port.onDisconnect.addListener(() => setTimeout(connectToWorker, 50));
}

function openPresence({ url, protocols }) {
  const isCurrent = presence?.url === url && presence.readyState <= WebSocket.OPEN;
  if (isCurrent) return;
  presence?.close();
  presence = new WebSocket(url, protocols);
}
connectToWorker();
