import { checkPairing, readSettings } from "./settings.js";

const form = document.getElementById("form");
const fields = document.getElementById("fields");
const status = document.getElementById("status");

function showStatus(look, text) {
  status.className = look;
  status.textContent = text;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const settings = {
    port: Number(form.elements.port.value),
    token: form.elements.token.value.trim(),
  };
  try {
    await chrome.storage.local.set(settings);
  } catch (error) {
    return showStatus("bad", `Not saved: ${error.message}`);
  }
  showStatus("", "Saved. Contacting the gateway …");
  try {
    await checkPairing(settings);
    showStatus("good", "Saved and paired. To attach a tab, click the extension's icon on it.");
  } catch (error) {
    showStatus("bad", `Saved. ${error.message}`);
  }
});

// Enable the fields only after the saved values are filled in, since they would overwrite earlier input.
try {
  const { port, token } = await readSettings();
  form.elements.port.value = port;
  form.elements.token.value = token;
} catch (error) {
  showStatus("bad", `The saved settings cannot be read: ${error.message}`);
}
fields.disabled = false;
