// Sets the theme before the first paint (a classic script in the head), then keeps the toggle in step.
// Stored as localStorage "workbench.theme": light or dark; absent = the system's.
(() => {
  const root = document.documentElement;
  const KEY = "workbench.theme";

  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage may be forbidden; the system's theme is fine
    }
  };

  const apply = (choice) => {
    if (choice === "light" || choice === "dark") root.dataset.theme = choice;
    else delete root.dataset.theme;
  };

  const showChoice = () => {
    const current = root.dataset.theme ?? "system";
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === current));
    }
  };

  root.classList.add("js");
  apply(stored());
  document.addEventListener("DOMContentLoaded", showChoice);
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-theme-choice]");
    if (!button) return;
    const choice = button.dataset.themeChoice;
    apply(choice);
    try {
      if (choice === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, choice);
    } catch {
      // the choice holds for this page
    }
    showChoice();
  });
  window.addEventListener("storage", (event) => {
    if (event.key !== KEY) return;
    apply(event.newValue);
    showChoice();
  });
})();
