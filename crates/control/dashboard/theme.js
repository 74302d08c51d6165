// Light or dark theme: that of the system, unless the user has chosen one. Not a module, so that it runs before the page is painted.
"use strict";

(() => {
  const CHOICES = ["system", "light", "dark"];
  const KEY = "hearth.theme";

  function chosen() {
    try {
      const kept = localStorage.getItem(KEY);
      return CHOICES.includes(kept) ? kept : "system";
    } catch {
      // No storage in this browser: the choice lasts as long as the page.
      return document.documentElement.dataset.theme ?? "system";
    }
  }

  function choose(theme) {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // As above.
    }
  }

  document.documentElement.dataset.theme = chosen();

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => {
      button.textContent = `Theme: ${chosen()}`;
      button.setAttribute("aria-label", `Theme: ${chosen()}. Change it`);
    };
    button.addEventListener("click", () => {
      choose(CHOICES[(CHOICES.indexOf(chosen()) + 1) % CHOICES.length]);
      show();
    });
    show();
  });
})();
