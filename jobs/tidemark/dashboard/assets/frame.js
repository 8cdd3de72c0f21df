// Airflow shows these pages in a sandboxed frame: what leaves the frame is handed to the page around it, and the
// colours follow those that were chosen there. Without this script every page still reads and every form still works.
"use strict";
(() => {
  let around;
  try {
    around = window.parent === window ? null : window.parent.document;
  } catch {
    around = null;
  }
  if (!around) return;

  const root = document.documentElement;
  const follow = () => {
    const dark = around.documentElement.classList.contains("dark");
    const light = around.documentElement.classList.contains("light");
    if (dark || light) root.dataset.theme = dark ? "dark" : "light";
  };
  follow();
  new MutationObserver(follow).observe(around.documentElement, { attributes: true, attributeFilter: ["class"] });

  document.addEventListener("click", (event) => {
    const chosen = event.target.closest("a[target=_top]");
    if (!chosen || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const link = around.createElement("a");
    link.href = chosen.href;
    around.body.append(link);
    link.click();
    link.remove();
  });
})();
