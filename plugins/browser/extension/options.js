import { checkPairing, readSettings } from "./settings.js";

const form = document.getElementById("form");
const status = document.getElementById("status");

function say(look, text) {
  status.className = look;
  status.textContent = text;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const settings = { port: Number(form.elements.port.value), token: form.elements.token.value.trim() };
  await chrome.storage.local.set(settings);
  say("", "Saved. Asking the gateway …");
  try {
    await checkPairing(settings);
    say("good", "Saved and paired: click the icon on a tab.");
  } catch (error) {
    say("bad", `Saved. ${error.message}`);
  }
});

// Whoever types meanwhile keeps what was typed.
const { port, token } = await readSettings();
form.elements.port.value ||= port;
form.elements.token.value ||= token;
