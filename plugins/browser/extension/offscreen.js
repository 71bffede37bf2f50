// A page that nobody sees. It is there while tabs are attached, starts the worker again as soon as it has died, and
// meanwhile tells the relay that this browser runs, by a socket that is open for as long as the page is there.

let presence;

function watch() {
  const port = chrome.runtime.connect({ name: "keep-alive" });
  port.onMessage.addListener(show);
  port.onDisconnect.addListener(() => setTimeout(watch, 50));
}

function show({ url, protocols }) {
  const isNow = presence?.url === url && presence.readyState <= WebSocket.OPEN;
  if (isNow) return;
  presence?.close();
  presence = new WebSocket(url, protocols);
}
watch();
