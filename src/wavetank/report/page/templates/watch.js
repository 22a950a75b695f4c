// A page that is served while its campaign runs: it says how far that is, and renews itself when there are other results.
(() => {
  const bar = document.getElementById("watch");
  const words = bar.querySelector("span");
  const renew = bar.querySelector("button");
  const say = (text) => { if (words.textContent !== text) words.textContent = text; };

  // What a reader opened, chose or typed would be lost: the page then renews itself only when asked.
  let inUse = false;
  for (const kind of ["click", "input"]) {
    document.getElementById("main").addEventListener(kind, (event) => {
      if (event.target instanceof Element && event.target.closest("button, summary, input, select")) inUse = true;
    });
  }
  const theme = document.getElementById("theme");
  if (theme !== null && sessionStorage.getItem("theme")) {
    document.documentElement.dataset.theme = sessionStorage.getItem("theme");
    theme.textContent = `Theme: ${sessionStorage.getItem("theme")}`;
  }
  const again = () => {
    sessionStorage.setItem("theme", document.documentElement.dataset.theme ?? "");
    location.reload();
  };
  renew.addEventListener("click", again);

  const ask = async () => {
    if (document.hidden) return;
    let state;
    try {
      state = await (await fetch("state", { cache: "no-store" })).json();
    } catch {
      say("This page is not served any more: it shows what there was until then.");
      bar.classList.add("gone");
      return;
    }
    bar.classList.remove("gone");
    const isNew = state.version !== bar.dataset.version;
    if (isNew && !inUse) { again(); return; }
    renew.hidden = !isNew;
    say(state.sentence);
  };
  document.addEventListener("visibilitychange", ask);
  setInterval(ask, 2000);
})();
