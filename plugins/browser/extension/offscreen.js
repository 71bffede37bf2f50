// A hidden page that exists while tabs are attached. It restarts the worker as soon as it has died, and meanwhile shows
// the relay that this browser runs, by a socket that is open as long as the page exists.

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
