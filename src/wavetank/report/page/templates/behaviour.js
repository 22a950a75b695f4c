// Comforts of the page. All content is there without them.
(() => {
  let started = false;
  // One of several variants at a time: time or tick, one ranking or another.
  for (const group of all(".switchable")) {
    const variants = [...group.children].filter((child) => child.classList.contains("variant"));
    const bar = make("div", { class: "switch", role: "group", "aria-label": "What to show" });
    const show = (chosen) => {
      variants.forEach((variant, i) => { variant.hidden = i !== chosen; });
      if (started) wakeIn(variants[chosen]);
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

  started = true;
  all("table").forEach((table) => equip(table));
  wakeIn(document);

  // In a narrow window a plot is as wide as the window, until it is enlarged.
  for (const canvas of all(".canvas")) {
    canvas.classList.add("fit");
    const button = make("button", { type: "button", class: "enlarge", "aria-pressed": "false" }, "Enlarge");
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(!canvas.classList.toggle("fit")));
      reachable();
    });
    canvas.after(button);
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
