/* The storm page: each second it asks for what is new, and draws it. */
(() => {
  "use strict";

  const page = document.getElementById("storm");
  const SHOWN = Number(page.dataset.shown);
  const BUDGET = Number(page.dataset.budget);
  const KEPT = SHOWN + 30;
  const ROWS = 60;
  const PATIENCE = 8000;
  const HEIGHT = 180;
  const SERVICES = JSON.parse(document.getElementById("storm-services").textContent);
  const LOSSES = SERVICES.map(({ slug }) => slug);
  const COLUMNS = ["at", "strength", "median", "most", ...LOSSES];
  const DASHES = [[], [6, 4], [2, 3], [10, 3, 2, 3]];
  const HALF_A_LABEL = 30;
  const SECONDS = new Set(["median", "most"]);
  const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });

  const points = Object.fromEntries(COLUMNS.map((name) => [name, []]));
  let charts = [];
  let end = Date.now() / 1000;
  let timer = 0;
  let asking = false;

  /* Points */

  function push(row) {
    const last = points.at.at(-1);
    if (last !== undefined && row[0] <= last) return;
    if (last !== undefined && row[0] > last + 1) add([last + 1]);
    add(row);
  }

  function add(row) {
    COLUMNS.forEach((name, column) => {
      const value = row[column] ?? null;
      points[name].push(SECONDS.has(name) && value !== null ? value / 1000 : value);
    });
  }

  function forget() {
    const old = points.at.filter((at) => at < end - KEPT).length;
    if (old) COLUMNS.forEach((name) => points[name].splice(0, old));
  }

  /* Charts */

  function colour(name) {
    return getComputedStyle(page).getPropertyValue(`--storm-${name}`).trim();
  }

  function line(label, name, unit, dash) {
    return {
      label,
      stroke: colour(name),
      width: 2,
      dash,
      points: { show: false },
      value: (_, value) => (value === null || value === undefined ? "–" : value.toFixed(1) + unit),
    };
  }

  /* At least a minute, at most all there is. */
  function shown() {
    return [Math.max(end - SHOWN, Math.min(points.at[0] ?? end, end - 60)), end];
  }

  /* A tint behind all seconds on end in which more claims came in than usual. */
  function shade(chart) {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.fillStyle = colour("shade");
    for (let from = 0, to; from < points.at.length; from = to + 1) {
      for (to = from; points.strength[to] > 1; to += 1);
      if (to === from) continue;
      const left = Math.max(chart.valToPos(points.at[from] - 1, "x", true), bbox.left);
      const width = chart.valToPos(points.at[to - 1], "x", true) - left;
      if (width > 0) ctx.fillRect(left, bbox.top, width, bbox.height);
    }
    ctx.restore();
  }

  function drawBudget(chart) {
    const { ctx, bbox } = chart;
    const y = chart.valToPos(BUDGET, "y", true);
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("budget");
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    const text = `budget: ${BUDGET} seconds`;
    const left = bbox.left + 6 * devicePixelRatio;
    ctx.fillStyle = colour("card");
    ctx.fillRect(left - 2, y - 19 * devicePixelRatio, ctx.measureText(text).width + 4, 16 * devicePixelRatio);
    ctx.fillStyle = colour("budget");
    ctx.fillText(text, left, y - 6 * devicePixelRatio);
    ctx.restore();
  }

  function axis(extra) {
    const grid = { stroke: colour("grid"), width: 1 };
    return { stroke: colour("quiet"), grid, ticks: grid, ...extra };
  }

  function draw(id, names, lines, least, unit, hooks) {
    const holder = document.getElementById(id);
    const chart = new uPlot(
      {
        width: holder.clientWidth,
        height: HEIGHT,
        padding: [null, HALF_A_LABEL, null, null],
        cursor: { sync: { key: "storm" }, drag: { x: false, y: false } },
        scales: {
          x: { range: shown },
          y: { range: (_, low, high) => [0, Math.max(least, 1.15 * (high ?? 0))] },
        },
        axes: [
          axis({ space: 90, size: 34, values: (_, moments) => moments.map((at) => clock.format(at * 1000)) }),
          axis({ size: 58, values: (_, values) => values.map((value) => value + unit) }),
        ],
        series: [{ value: (_, at) => (at ? clock.format(at * 1000) : "–") }, ...lines],
        legend: { markers: { dash: (self, index) => (self.series[index].dash ? "dashed" : "solid") } },
        hooks,
      },
      ["at", ...names].map((name) => points[name]),
      holder,
    );
    charts.push({ chart, holder, names });
  }

  function drawAll() {
    charts.forEach(({ chart }) => chart.destroy());
    charts = [];
    draw("storm-latency", ["most", "median"],
      [line("95 % at most", "most", " s"), line("half at most", "median", " s", DASHES[1])],
      1.5 * BUDGET, " s", { drawClear: [shade], draw: [drawBudget] });
    draw("storm-shed", LOSSES,
      SERVICES.map(({ name }, place) => line(name, `loss-${place + 1}`, "/s", DASHES[place])),
      1, "/s", { drawClear: [shade] });
  }

  function fit() {
    charts.forEach(({ chart, holder }) => {
      if (chart.width !== holder.clientWidth) {
        chart.setSize({ width: holder.clientWidth, height: HEIGHT });
      }
    });
  }

  function redraw() {
    forget();
    charts.forEach(({ chart, names }) => chart.setData(["at", ...names].map((name) => points[name])));
    tabulate();
  }

  /* Words and figures */

  function say(id, text) {
    const place = document.getElementById(id);
    if (place.textContent !== text) place.textContent = text;
  }

  function tell(now) {
    say("storm-words", now.words);
    document.getElementById("storm-start").hidden = now.running;
    for (const id of ["storm-control", "storm-try"]) document.getElementById(id).hidden = !now.running;
    Object.entries(now.figures).forEach(([name, text]) => {
      const place = page.querySelector(`[data-figure="${CSS.escape(name)}"]`);
      if (!place) return;
      if (place.textContent !== text) place.textContent = text;
      place.dataset.value = text;
    });
    page.querySelectorAll("button[name=strength]").forEach((button) => {
      const own = button.value === String(now.chosen ?? "automatic");
      button.setAttribute("aria-pressed", String(own));
    });
    say("storm-now", now.control);
  }

  function tabulate() {
    const table = document.getElementById("storm-table");
    if (!table.closest("details").open) return;
    const rows = [];
    for (let index = points.at.length - 1; index >= 0 && rows.length < ROWS; index -= 1) {
      if (points.strength[index] === null) continue;
      const row = document.createElement("tr");
      COLUMNS.forEach((name) => row.append(cell(name, points[name][index])));
      rows.push(row);
    }
    table.replaceChildren(...rows);
  }

  function cell(name, value) {
    const made = document.createElement(name === "at" ? "th" : "td");
    if (name === "at") made.scope = "row";
    made.textContent = value === null ? "–" : name === "at" ? clock.format(value * 1000) : value;
    return made;
  }

  /* Asking */

  async function ask() {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const after = points.at.length ? `?after=${points.at.at(-1)}` : "";
      const answer = await fetch(page.dataset.live + after, {
        redirect: "manual",
        signal: AbortSignal.timeout(PATIENCE),
      });
      if (answer.type === "opaqueredirect") return trouble("You are logged out. Reload the page to log in.");
      if (!answer.ok) return trouble(`The service answered ${answer.status}. Trying again …`);
      const now = await answer.json();
      end = now.at;
      now.points.forEach(push);
      tell(now);
      redraw();
      trouble("");
      next(now.more ? 0 : 1000);
    } catch {
      trouble("The service can't be reached. Trying again …");
    } finally {
      asking = false;
    }
  }

  function next(milliseconds) {
    clearTimeout(timer);
    timer = setTimeout(ask, milliseconds);
  }

  function trouble(text) {
    say("storm-trouble", text);
    document.getElementById("storm-trouble").hidden = !text;
    if (text) next(2000);
  }

  /* After logging in again elsewhere the cookie is newer than the page. */
  function refreshToken(form) {
    const cookie = document.cookie.split("; ").find((one) => one.startsWith("csrftoken="));
    if (cookie) form.elements.csrfmiddlewaretoken.value = cookie.slice("csrftoken=".length);
  }

  async function choose(event) {
    event.preventDefault();
    refreshToken(event.target);
    const sent = new FormData(event.target, event.submitter);
    try {
      const answer = await fetch(event.target.action, { method: "POST", body: sent, redirect: "manual" });
      if (answer.type !== "opaqueredirect") return trouble(`The service answered ${answer.status}.`);
      next(0);
    } catch {
      trouble("The service can't be reached. Trying again …");
    }
  }

  document.getElementById("storm-control").addEventListener("submit", choose);
  document.getElementById("storm-table").closest("details").addEventListener("toggle", tabulate);
  document.addEventListener("visibilitychange", () => next(0));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  document.querySelectorAll(".storm-zone").forEach((place) => (place.textContent = zone));
  drawAll();
  new ResizeObserver(fit).observe(page);
  ask();
})();
