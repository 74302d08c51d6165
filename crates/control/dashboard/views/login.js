// The login: the token goes to the server once, which answers with a cookie that no script can read. Nothing is kept here.

import { logIn } from "../parts/api.js";

/** Asks until the token is right, and calls `entered` then. `why` is shown if given. */
export function login(why, entered) {
  const [main, form, input, error] = ["login", "login-form", "token", "login-error"].map((id) =>
    document.getElementById(id),
  );
  main.hidden = false;
  error.textContent = why;
  input.value = "";
  input.focus();
  form.onsubmit = async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    error.textContent = "";
    try {
      await logIn(input.value.trim());
      input.value = "";
      entered();
    } catch (failure) {
      error.textContent = failure.message;
      input.select();
    } finally {
      button.disabled = false;
    }
  };
}
