"use strict";
// The page works without this file. It saves a click here and there, and brings newer pictures.
(() => {
  const main = document.querySelector("main");
  const fetched = (url) => fetch(url, { credentials: "same-origin" });

  // A form is sent once, however often its button is pressed.
  for (const form of document.querySelectorAll("form[data-once]")) {
    form.addEventListener("submit", (event) => {
      const file = form.querySelector("input[type=file]");
      if (file && file.files[0] && file.files[0].size > Number(file.dataset.most)) {
        event.preventDefault();
        const words = form.querySelector(".too-large") || form.insertBefore(document.createElement("p"), form.firstChild);
        words.className = "alert too-large";
        words.setAttribute("role", "alert");
        words.textContent = "This file is too large: at most 10 MB are taken.";
        return;
      }
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
    });
  }
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  // What was done, or is wrong, is where the eye and the screen reader are.
  const wrong = document.querySelector("[aria-invalid]") || document.querySelector(".ask button");
  if (wrong) wrong.focus();
  const opened = location.hash && document.querySelector(location.hash + ":is(details)");
  if (opened) opened.open = true;
  for (const link of document.querySelectorAll("a[href='#add']")) {
    link.addEventListener("click", () => { document.getElementById("add").open = true; });
  }

  // Rows of the set-up that are still hidden.
  for (const button of document.querySelectorAll("[data-more]")) {
    const spare = () => {
      const found = [];
      for (let row = button.previousElementSibling; row && row.matches("fieldset"); row = row.previousElementSibling) {
        if (row.hidden) found.unshift(row);
      }
      return found;
    };
    button.hidden = !spare().length;
    button.addEventListener("click", () => {
      const row = spare()[0];
      row.hidden = false;
      row.querySelector("input").focus();
      button.hidden = !spare().length;
    });
  }

  // What if: the sentences follow the slider.
  const form = document.querySelector("[data-what-if]");
  if (form) {
    const answer = document.getElementById("what-if-answer");
    let timer = 0, latest = 0;
    const ask = async () => {
      const mine = ++latest;
      try {
        const found = await (await fetched("/what-if?" + new URLSearchParams(new FormData(form)))).json();
        if (mine !== latest) return;
        const words = document.createElement("p");
        words.className = found.fault ? "alert" : "sentence";
        const shown = Object.entries(found.shown || {}).map((pair) => pair.join(" ")).join(", ");
        if (shown) words.appendChild(document.createElement("strong")).textContent = shown + ". ";
        words.append(found.fault || found.lines.join(" "));
        answer.replaceChildren(words);
      } catch (error) { /* the server is away: the button still works when it is back */ }
    };
    form.addEventListener("input", (event) => {
      const output = event.target.parentElement.querySelector("output");
      if (output) output.textContent = event.target.value;
      clearTimeout(timer);
      timer = setTimeout(ask, 250);
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  }

  // Newer pictures, and the next decision when it is there.
  const best = () => document.getElementById("best");
  if (!best()) return;
  let drawn = main.dataset.drawn;
  const typed = () => document.querySelector(".alert, #correct, details[open]") !== null
    || [...document.querySelectorAll("input:not([type=hidden], [type=range])")].some((box) => box.value !== box.defaultValue)
    || [...document.querySelectorAll("#tell select, #ask select")].some((list) => !list.options[list.selectedIndex].defaultSelected && list.selectedIndex > 0);
  const look = async () => {
    let soon = 4000;
    try {
      const state = await (await fetched("/state")).json();
      if (String(state.drawn) !== drawn || (!state.busy && best().querySelector("[role=status]:not(:empty)"))) {
        const newer = document.createElement("template");
        newer.innerHTML = await (await fetched("/pictures")).text();
        for (const part of newer.content.querySelectorAll("section")) document.getElementById(part.id).replaceWith(part);
        drawn = String(state.drawn);
      }
      if (!main.dataset.open && state.open.length) {
        if (!typed()) location.replace("/" + location.search);
        const words = document.querySelector("#today .decision, #today .why");
        if (words) words.textContent = "The next decision is there.";
      }
      if (state.busy || (!state.open.length && !main.dataset.asks)) soon = 700;
    } catch (error) { soon = 8000; }
    if (!document.hidden) setTimeout(look, soon);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  setTimeout(look, 700);
})();
