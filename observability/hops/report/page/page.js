// Makes tables sortable, and marks the current section. Without it, the page is complete.
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

  // A narrow page begins with the conclusions, not with the contents.
  const contents = document.querySelector(".contents");
  const narrow = matchMedia("(max-width: 68rem)");
  if (narrow.matches) contents.open = false;
  narrow.addEventListener("change", () => { contents.open = !narrow.matches; });

  // A link to a section opens it, and the elements around it.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    const chapter = target?.querySelector(":scope > .chapter");
    if (chapter) chapter.open = true;
    target?.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // Marks the current section.
  const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
  const sections = [...document.querySelectorAll("main > section")];
  const mark = () => {
    const read = sections.findLast((one) => one.getBoundingClientRect().top < innerHeight / 3) ?? sections[0];
    for (const [name, link] of links) {
      if (name === read.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
})();
