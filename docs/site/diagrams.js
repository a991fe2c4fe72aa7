// Draws the diagrams of a page in the colours of its theme.
const chosen = document.body.dataset.theme;
const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
mermaid.initialize({ startOnLoad: true, theme: dark ? "dark" : "neutral" });
