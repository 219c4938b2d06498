"use strict";
(() => {
  const element = (name, css, text) => {
    const made = document.createElement(name);
    if (css) made.className = css;
    if (text !== undefined) made.textContent = text; // never markup: these are a model's words
    return made;
  };

  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };

  const folded = (title, body, open = false) => {
    const details = element("details", "fold");
    details.open = open;
    details.append(element("summary", "", title), body);
    return details;
  };

  const text = (words) => {
    const pre = element("pre", "", words);
    pre.tabIndex = 0;
    return pre;
  };

  const listing = (code) => {
    const pre = element("pre", "code");
    pre.tabIndex = 0;
    for (const line of code.replace(/\n$/, "").split("\n")) pre.append(element("span", "line", line + "\n"));
    return pre;
  };

  const KINDS = { "+": "added", "-": "removed", "@": "place" };
  const difference = (lines) => {
    const pre = element("pre", "diff");
    pre.tabIndex = 0;
    for (const line of lines) pre.append(element("span", KINDS[line[0]] || "", line + "\n"));
    return pre;
  };

  const spoken = (outcome) => outcome.replaceAll("_", " ");

  const outcomeOf = (turn) => element("span", "word o-" + turn.outcome.replaceAll("_", "-"), spoken(turn.outcome));

  const factsOf = (turn) => [turn.found, ...(turn.facts || [])].filter(Boolean).join(" · ");

  const turnShown = (turn, many) => {
    const part = element("div", "turn");
    if (many) {
      const head = element("p", "turn-head");
      head.append(element("b", "", "Turn " + turn.turn + " "), outcomeOf(turn), element("span", "turn-facts", factsOf(turn)));
      part.append(head);
    }
    for (const name of ["failure", "not_judged", "shortened"])
      if (turn[name]) part.append(element("p", "note", spoken(name) + ": " + turn[name]));
    if (turn.verdict) part.append(folded("Verdict", text(turn.verdict), true));
    if (turn.diff) part.append(folded("Changes from the turn before", difference(turn.diff), true));
    if (turn.code) part.append(folded("Code", listing(turn.code), !turn.diff));
    if (turn.feedback) part.append(folded("Feedback to the model", text(turn.feedback)));
    if (turn.answer) part.append(folded("Answer as given", text(turn.answer)));
    if (turn.reasoning) part.append(folded("Reasoning", text(turn.reasoning)));
    return part;
  };

  const candidateShown = (candidate) => {
    const best = candidate.turns.find((turn) => turn.turn === candidate.best) || candidate.turns[0];
    const many = candidate.turns.length > 1;
    const details = element("details", "candidate");
    const summary = element("summary");
    summary.append(element("span", "sample", "Sample " + candidate.index), outcomeOf(best));
    const which = many ? "best of " + candidate.turns.length + " turns: " + best.turn + " · " : "";
    summary.append(element("span", "turn-facts", which + factsOf(best)));
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1)
        for (const turn of candidate.turns) details.append(turnShown(turn, many));
    });
    return details;
  };

  const fill = async (task) => {
    const place = task.querySelector(".content");
    if (place.dataset.filled) return;
    place.dataset.filled = "yes";
    const data = await unpacked(task.querySelector(".packed").textContent);
    if (data.source) place.append(folded("Source of the task", listing(data.source)));
    for (const run of data.runs) {
      if (data.runs.length > 1) place.append(element("h3", "", run.label));
      for (const candidate of run.candidates) place.append(candidateShown(candidate));
    }
  };

  for (const task of document.querySelectorAll(".task")) {
    task.addEventListener("toggle", () => {
      if (!task.open) return;
      fill(task).catch((error) => {
        task.querySelector(".content").append(element("p", "warnings", "This browser cannot unpack the task: " + error));
      });
    });
  }

  const filter = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const tasks = [...document.querySelectorAll(".task")];
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (task, word) => (" " + task.dataset.words).includes(word === "solved" ? " solved" : word);
    let count = 0;
    for (const task of tasks) {
      const fits = words.every((word) => has(task, word));
      task.hidden = !fits;
      count += fits;
    }
    shown.textContent = words.length ? count + " of " + tasks.length : "";
  });
})();
