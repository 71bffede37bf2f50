/** The form that asks for the token. */
import { attempt, forgetToken, get, keepToken } from "./api.js";
import { h } from "./dom.js";

/**
 * Creates the form. `message` says why the reader must sign in again; `onSignIn` runs when the gateway has accepted a
 * token.
 */
export function signInForm(message, onSignIn) {
  const input = h("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "sign-in-problem",
  });
  const button = h("button", { type: "submit", class: "primary" }, "Sign in");
  const problem = h("p", { id: "sign-in-problem", class: "problem", role: "alert" }, message ?? "");
  const onsubmit = async (event) => {
    event.preventDefault();
    problem.textContent = "";
    button.disabled = true;
    const refusal = await trySignIn(input.value.trim());
    button.disabled = false;
    if (refusal === undefined) return onSignIn();
    problem.textContent = refusal;
    input.select();
  };
  return h(
    "form",
    { class: "sign-in", onsubmit },
    h("h2", {}, "Sign in"),
    h("label", { for: "token" }, "The gateway's token or password"),
    input,
    problem,
    button,
    h("p", { class: "hint" }, "On the gateway's machine, this command prints the token:"),
    h("pre", { tabindex: "0" }, "portico config get gateway.auth.token --reveal"),
    h("p", { class: "hint" }, "The token is stored only in this tab, until you close the tab."),
  );
}

/** Stores the token if the gateway accepts it; otherwise returns the reason why it does not. */
async function trySignIn(token) {
  // A header cannot carry other characters: the request would fail as if the gateway did not respond.
  if (/[^\x20-\xff]/.test(token))
    return "That token is wrong: it contains characters that a browser cannot send.";
  keepToken(token);
  const { error } = await attempt(get("/kernel/status"));
  if (!error) return undefined;
  forgetToken();
  return error.status === 401 ? "That token is wrong." : error.message;
}
