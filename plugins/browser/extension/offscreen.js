// A page that nobody sees. It is there while tabs are attached, and starts the worker again as soon as it has died.

function watch() {
  const port = chrome.runtime.connect({ name: "keep-alive" });
  port.onDisconnect.addListener(() => setTimeout(watch, 50));
}
watch();
