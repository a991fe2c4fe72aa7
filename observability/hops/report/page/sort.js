// Makes tables sortable. Without it they are whole all the same.
(() => {
  const value = (row, index) => {
    const cell = row.cells[index];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.classList.contains("n") ? NaN : cell.textContent.trim();
  };
  const compare = (a, b) =>
    typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  const unknown = (one) => typeof one === "number" && Number.isNaN(one);

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    heads.forEach((head, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...body.rows].map((row) => [value(row, index), row]);
        rows.sort(([a], [b]) => {
          if (unknown(a) || unknown(b)) return unknown(a) - unknown(b);
          return up ? compare(a, b) : compare(b, a);
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  // A narrow page begins with what the run says, not with the contents.
  const contents = document.querySelector(".contents");
  const narrow = matchMedia("(max-width: 68rem)");
  if (narrow.matches) contents.open = false;
  narrow.addEventListener("change", () => { contents.open = !narrow.matches; });

  // Paper cannot be clicked: what is folded is opened for it, and folded again.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });
})();
