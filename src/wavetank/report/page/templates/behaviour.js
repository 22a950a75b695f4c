"use strict";
// Comforts of the page. All content is there without them.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, attributes = {}, text = "") => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  };

  // One of several variants at a time: time or tick, one ranking or another.
  for (const group of all(".switchable")) {
    const variants = [...group.children].filter((child) => child.classList.contains("variant"));
    const bar = make("div", { class: "switch", role: "group", "aria-label": "What to show" });
    const show = (chosen) => {
      variants.forEach((variant, i) => { variant.hidden = i !== chosen; });
      [...bar.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
    };
    variants.forEach((variant, i) => {
      const button = make("button", { type: "button" }, variant.dataset.label);
      button.addEventListener("click", () => show(i));
      bar.append(button);
    });
    group.prepend(bar);
    show(0);
  }

  // Tables: sort by a column, keep the rows that hold some words.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const raw = cell.dataset.v ?? cell.textContent.trim();
    const plain = raw.replace(/,/g, "");
    return plain !== "" && !Number.isNaN(Number(plain)) ? Number(plain) : raw;
  };
  const order = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  for (const table of all("table[data-sort]")) {
    const heads = all("thead th", table);
    const body = table.tBodies[0];
    if (body.rows.length < 2) continue;
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
        rows.sort((a, b) => (down ? order(b[0], a[0]) : order(a[0], b[0])));
        body.append(...rows.map((pair) => pair[1]));
      });
    });
  }
  for (const table of all("table[data-filter]")) {
    const rows = [...table.tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const input = make("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter the rows of: " + table.caption.textContent });
    const count = make("span", { "aria-live": "polite" }, `${rows.length} rows`);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every((word) => texts[i].includes(word));
        if (!row.hidden) shown += 1;
      });
      count.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
    });
    const line = make("div", { class: "filter" });
    line.append(input, count);
    table.closest(".scroll").before(line);
  }

  // What is wider than the window can be scrolled from the keyboard too.
  const reachable = () => {
    for (const box of all(".canvas, .scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reachable);
  reachable();

  // Marks of plots say what they stand for.
  const tip = document.getElementById("tip");
  for (const title of all("svg .mark > title")) {
    title.parentElement.dataset.tip = title.textContent;
    title.remove();
  }
  document.addEventListener("pointermove", (event) => {
    const mark = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    tip.hidden = mark === null;
    if (mark === null) return;
    tip.textContent = mark.dataset.tip;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const above = event.clientY + 20 + box.height > innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above ? event.clientY - box.height - 12 : event.clientY + 18}px`;
  });
  document.addEventListener("pointerleave", () => { tip.hidden = true; });

  // Where the reader is.
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.classList.remove("here"));
      links.get(entry.target.id)?.classList.add("here");
    }
  }, { rootMargin: "-10% 0px -75% 0px" });
  links.forEach((_, id) => { const target = document.getElementById(id); if (target) seen.observe(target); });

  // Light, dark, or as the system has it.
  const theme = document.getElementById("theme");
  const themes = ["auto", "light", "dark"];
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? "auto";
    const next = themes[(themes.indexOf(now) + 1) % themes.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    theme.textContent = `Theme: ${next}`;
  });

  // A link to a collapsed part opens it.
  const reveal = () => {
    const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
