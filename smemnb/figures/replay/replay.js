// The replay: the shared arrays of one block, step by step between its barriers.
//
// `mount(place, state)` draws into any element of a page; the default export is what anywidget
// calls. `state` is what `smemnb.figures.replay.state` makes. No library, no network, no `eval`.
// Every step that is shown was recorded; the page only adds up who wrote what so far.

const WIDE = 560, HIGH = 320; // pixels that an array takes at most, about
const SIDE = 24; // pixels of an element's side at most
const MOST_SHOWN = 160; // rows and columns of an array
const ROW_ELEMS = 32; // of an array of one dimension
const WAIT_MS = 350; // between two steps of Play
const CIVIDIS = [
  [18, 53, 112], [59, 73, 108], [87, 92, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 180, 105], [254, 232, 56],
];
const DONE = { load: "reads", store: "writes" };

export function mount(place, state) {
  const replay = new Replay(place, state);
  return {
    update: (next) => replay.begin(next),
    destroy: () => replay.end(),
  };
}

export default {
  render({ model, el }) {
    const view = mount(el, model.get("state"));
    const changed = () => view.update(model.get("state"));
    model.on("change:state", changed);
    return () => {
      model.off("change:state", changed);
      view.destroy();
    };
  },
};

// --- numbers ---------------------------------------------------------------------------------

// A list of numbers as it was before state.py packed it.
export function unpacked(numbers) {
  if (Array.isArray(numbers)) return numbers;
  return Array.from({ length: numbers.times }, (_, at) => numbers.from + at * numbers.by);
}

function readEvent([line, kind, tile, lanes, elements, stale, sentence, values]) {
  const touched = unpacked(elements);
  return {
    line, kind, tile, sentence, values,
    elements: touched,
    lanes: lanes === null ? touched.map((_, at) => at % 32) : unpacked(lanes),
    stale: new Set(stale === null ? [] : unpacked(stale)),
  };
}

function readRun(run) {
  const steps = run.steps.map(([phase, warp, ahead, first, end]) => ({ phase, warp, ahead, first, end }));
  return { ...run, steps, events: run.events.map(readEvent) };
}

function rowsAndCols(shape) {
  const size = shape.reduce((all, extent) => all * extent, 1);
  const cols = Math.max(1, shape.length > 1 ? shape[shape.length - 1] : Math.min(ROW_ELEMS, size));
  return [Math.max(1, Math.ceil(size / cols)), cols];
}

function indexOf(shape, element) {
  const index = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index.unshift(element % shape[axis]);
    element = Math.floor(element / shape[axis]);
  }
  return index;
}

function subscript(tile, element) {
  return `${tile.name}[${indexOf(tile.shape, element).join(", ")}]`;
}

function counted(number, noun) {
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`;
}

function listed(noun, first, end) {
  return end === first + 1 ? `${noun} ${first}` : `${noun}s ${first}-${end - 1}`;
}

function colourOf(warp, warps) {
  const place = warps < 2 ? 7 : (7 * warp) / (warps - 1);
  const low = Math.min(Math.floor(place), 6);
  const mixed = CIVIDIS[low].map((one, at) =>
    Math.round(one + (CIVIDIS[low + 1][at] - one) * (place - low)));
  return `rgb(${mixed.join(", ")})`;
}

// --- the page --------------------------------------------------------------------------------

class Replay {
  constructor(place, state) {
    this.root = make("section", { class: "smr" });
    place.replaceChildren(this.root);
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.draw();
    this.dark.addEventListener("change", this.redraw);
    this.themes = new MutationObserver(this.redraw);
    for (const one of [document.documentElement, document.body]) {
      this.themes.observe(one, { attributes: true, attributeFilter: ["data-theme", "data-jp-theme-light"] });
    }
    this.root.addEventListener("keydown", (event) => this.press(event));
    this.begin(state);
  }

  begin(state) {
    this.stop();
    this.state = state;
    this.root.setAttribute("aria-label", `Replay of ${state.kernel}`);
    this.choose(state.run);
  }

  end() {
    this.stop();
    this.themes.disconnect();
    this.dark.removeEventListener("change", this.redraw);
    this.root.remove();
  }

  // Show a recorded run from its first step.
  choose(number) {
    this.stop();
    const focused = this.root.contains(document.activeElement) && document.activeElement.dataset.line;
    this.number = number;
    this.run = readRun(this.state.runs[number]);
    this.step = 0;
    this.firstStale = this.run.steps.findIndex((step) =>
      this.run.events.slice(step.first, step.end).some((event) => event.stale.size));
    this.build();
    this.show(0);
    if (focused) this.root.querySelector(`[data-line="${focused}"]`)?.focus();
  }

  build() {
    const { run, state } = this;
    this.tiles = run.tiles.map((tile, at) => ({ ...tile, at })).filter((tile) => tile.space === "shared");
    this.root.replaceChildren(
      make("p", { class: "smr-title" }, run.title),
      this.buildBarriers(),
      make("p", { class: `smr-summary${run.stale ? " smr-wrong" : ""}`, role: "status" }, run.summary),
      this.buildPlayer(),
      (this.said = make("div", { class: "smr-said", role: "status", "aria-live": "polite", "aria-atomic": "true" })),
      make("div", { class: "smr-stage" }, ...this.tiles.map((tile) => this.buildTile(tile))),
      (this.info = make("p", { class: "smr-info", role: "status", "aria-live": "polite" })),
      buildLegend(state.warps),
      this.buildOperands(),
      this.buildSource(),
      ...[...run.notes, ...state.notes].map((note) => make("p", { class: "smr-note" }, note)),
    );
  }

  // A box per barrier; of the recorded runs each lacks one of them at most.
  buildBarriers() {
    const boxes = this.state.runs.flatMap((run, number) => {
      if (run.without === null) return [];
      const box = make("input", { type: "checkbox", "data-line": String(run.without) });
      box.checked = number !== this.number;
      const whole = this.state.runs.findIndex((one) => one.without === null);
      box.addEventListener("change", () => this.choose(box.checked ? whole : number));
      const source = this.state.lines[run.without] ?? "";
      return [make("label", {}, box, ` line ${run.without} `, make("code", {}, source))];
    });
    return make(
      "fieldset", { class: "smr-barriers" },
      make("legend", {}, "barriers; take one out to see the run without it"), ...boxes,
    );
  }

  buildPlayer() {
    const last = Math.max(0, this.run.steps.length - 1);
    this.slide = make("input", {
      type: "range", min: "0", max: String(last), value: "0", "aria-label": "step", class: "smr-slide",
    });
    this.slide.addEventListener("input", () => {
      this.stop();
      this.show(Number(this.slide.value));
    });
    this.play = button("Play", "Play", () => (this.timer ? this.stop() : this.start()));
    const stale = button("Go to the first stale read", "First stale read", () => this.go(this.firstStale));
    stale.classList.add("smr-to-stale");
    stale.hidden = this.firstStale < 0;
    return make(
      "div", { class: "smr-player", role: "group", "aria-label": "Step by step" },
      button("Back to the phase before", "Phase back", () => this.go(this.phaseStart(-1))),
      button("Back one step", "Back", () => this.go(this.step - 1)),
      this.play,
      button("Step on", "Step", () => this.go(this.step + 1)),
      button("On to the next phase", "Phase on", () => this.go(this.phaseStart(1))),
      stale, this.slide,
    );
  }

  buildTile(tile) {
    const [rows, cols] = rowsAndCols(tile.shape);
    const shownRows = Math.min(rows, MOST_SHOWN), shownCols = Math.min(cols, MOST_SHOWN);
    const side = Math.max(2, Math.min(SIDE, Math.floor(Math.min(WIDE / shownCols, HIGH / shownRows))));
    const cut = shownRows < rows || shownCols < cols ? `; ${shownRows} x ${shownCols} of them are drawn` : "";
    const canvas = make("canvas", {
      tabindex: "0", role: "application", "data-tile": tile.name,
      "aria-label": `${tile.name}, ${tile.shape.join(" x ")} elements; arrow keys go from one to the next`,
    });
    canvas.style.width = `${shownCols * side}px`;
    canvas.style.height = `${shownRows * side}px`;
    Object.assign(tile, { rows: shownRows, cols: shownCols, stride: cols, side, canvas, cursor: null });
    const at = (event) => {
      const col = Math.floor(event.offsetX / side), row = Math.floor(event.offsetY / side);
      return row >= 0 && col >= 0 && row < shownRows && col < shownCols ? [row, col] : null;
    };
    canvas.addEventListener("pointermove", (event) => this.point(tile, at(event)));
    canvas.addEventListener("pointerleave", () => this.point(tile, null));
    canvas.addEventListener("focus", () => this.point(tile, tile.cursor ?? [0, 0]));
    canvas.addEventListener("blur", () => this.point(tile, null));
    canvas.addEventListener("keydown", (event) => this.walk(tile, event));
    const caption = `${tile.name}: ${tile.dtype} ${tile.shape.join(" x ")}${cut}`;
    tile.words = make("span", {});
    return make("figure", { class: "smr-tile" }, make("figcaption", {}, caption), canvas, tile.words);
  }

  // The part of each global array of two dimensions that the block touches, phase by phase.
  buildOperands() {
    this.operands = this.run.tiles.map((tile, at) => ({ ...tile, at }))
      .filter((tile) => tile.space === "global" && tile.shape.length === 2);
    return make("div", { class: "smr-operands" }, ...this.operands.map((tile) => {
      const [rows, cols] = tile.shape, scale = 150 / Math.max(rows, cols, 1);
      tile.part = make("div", { class: "smr-part" });
      tile.words = make("span", {});
      const sheet = make("div", { class: "smr-sheet", "aria-hidden": "true" }, tile.part);
      sheet.style.width = `${Math.max(8, cols * scale)}px`;
      sheet.style.height = `${Math.max(8, rows * scale)}px`;
      return make("figure", {}, make("figcaption", {}, `${tile.name}: ${rows} x ${cols}`), sheet, tile.words);
    }));
  }

  buildSource() {
    this.source = new Map(Object.entries(this.state.lines).map(([line, text]) => [
      Number(line),
      make("div", { class: "smr-line" }, make("span", { class: "smr-number" }, line), text),
    ]));
    return make("div", { class: "smr-source" }, ...this.source.values());
  }

  // --- steps ---------------------------------------------------------------------------------

  phaseStart(by) {
    const { steps } = this.run;
    const here = steps[this.step]?.phase ?? 0;
    if (by > 0) {
      const next = steps.findIndex((step) => step.phase > here);
      return next < 0 ? steps.length - 1 : next;
    }
    const start = steps.findIndex((step) => step.phase === here);
    return start < this.step ? start : Math.max(0, steps.findIndex((step) => step.phase === here - 1));
  }

  go(step) {
    this.stop();
    this.show(step);
  }

  start() {
    if (this.step >= this.run.steps.length - 1) this.show(0);
    this.play.textContent = "Pause";
    this.play.setAttribute("aria-label", "Pause");
    this.timer = window.setInterval(() => {
      this.show(this.step + 1);
      const here = this.run.steps[this.step];
      const red = this.run.events.slice(here.first, here.end).some((event) => event.stale.size);
      if (red || this.step >= this.run.steps.length - 1) this.stop();
    }, WAIT_MS);
  }

  stop() {
    if (this.timer) window.clearInterval(this.timer);
    this.timer = null;
    if (this.play) {
      this.play.textContent = "Play";
      this.play.setAttribute("aria-label", "Play");
    }
  }

  press(event) {
    if (event.target.tagName === "INPUT" || event.target.tagName === "CANVAS") return;
    const steps = {
      ArrowLeft: this.step - 1, ArrowRight: this.step + 1, Home: 0, End: this.run.steps.length - 1,
      PageUp: this.phaseStart(-1), PageDown: this.phaseStart(1),
    };
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.go(steps[event.key]);
  }

  // Add up all steps to this one, and show it.
  show(step) {
    const { run } = this;
    this.step = Math.max(0, Math.min(step, run.steps.length - 1));
    this.last = new Map(); // tile -> element -> [event, position] of the last store
    this.now = new Map(); // tile -> element -> "read" or "written" or "stale" in this step
    this.past = new Map(); // tile -> elements that were read stale before
    for (const tile of this.tiles) {
      this.last.set(tile.at, new Map());
      this.now.set(tile.at, new Map());
      this.past.set(tile.at, new Set());
    }
    const here = run.steps[this.step];
    if (here) {
      for (let number = 0; number < here.end; number++) this.add(number, number >= here.first);
    }
    this.slide.value = String(this.step);
    this.showWords(here);
    this.showParts(here);
    this.showOperands(here);
    this.draw();
  }

  add(number, isNow) {
    const event = this.run.events[number];
    const last = this.last.get(event.tile);
    if (!last) return; // global memory
    const now = this.now.get(event.tile), past = this.past.get(event.tile);
    event.elements.forEach((element, at) => {
      if (event.kind !== "load") {
        last.set(element, [number, at]);
        if (isNow && now.get(element) !== "stale") now.set(element, "written");
      } else if (event.stale.has(at)) {
        if (isNow) now.set(element, "stale");
        else past.add(element);
      } else if (isNow && !now.has(element)) {
        now.set(element, "read");
      }
    });
  }

  showWords(here) {
    const { run } = this;
    if (!here) {
      this.said.replaceChildren(make("p", {}, "nothing is recorded"));
      return;
    }
    const ahead = here.ahead ? `, past the barrier of line ${run.without} that is left out` : "";
    const head = `Step ${this.step + 1} of ${run.steps.length}: ${run.phases[here.phase]}; warp ${here.warp}${ahead}`;
    const done = new Map();
    let stale = 0, first = "";
    for (const event of run.events.slice(here.first, here.end)) {
      const key = `line ${event.line} ${DONE[event.kind] ?? "updates"} ${run.tiles[event.tile].name}`;
      done.set(key, (done.get(key) ?? 0) + event.elements.length);
      stale += event.stale.size;
      if (event.stale.size && !first) first = event.sentence;
    }
    const words = [...done].map(([key, count]) => `${key}, ${counted(count, "element")}`);
    const red = stale
      ? [make("p", { class: "smr-wrong smr-first" }, `${counted(stale, "stale read")}${first ? `; first: ${first}` : ""}`)]
      : [];
    this.said.replaceChildren(make("p", { class: "smr-head" }, head), make("p", {}, words.join("; ")), ...red);
    this.slide.setAttribute("aria-valuetext", `${head}${stale ? `; ${counted(stale, "stale read")}` : ""}`);
    Object.assign(this.root.dataset, {
      step: String(this.step), phase: String(here.phase + 1), warp: String(here.warp), stale: String(stale),
      without: run.without === null ? "" : String(run.without),
    });
    const lines = new Set(run.events.slice(here.first, here.end).map((event) => event.line));
    for (const [line, node] of this.source) {
      node.classList.toggle("smr-now", lines.has(line));
      node.classList.toggle("smr-out", line === run.without);
    }
  }

  // Which part of an array is read in a phase and which is filled: of two buffers one each.
  showParts(here) {
    for (const tile of this.tiles) {
      const parts = this.run.staged.filter((one) => one.tile === tile.at && one.phase === here?.phase);
      tile.words.textContent = parts.map((one) => {
        const ranges = one.box.map(([first, end]) => (end === first + 1 ? first : `${first}:${end}`));
        return `${DONE[one.kind] ?? "updates"} ${one.full ? "" : "parts of "}${tile.name}[${ranges.join(", ")}]`;
      }).join("; ") || "not touched in this phase";
    }
  }

  showOperands(here) {
    for (const tile of this.operands) {
      const staged = this.run.staged.filter((one) => one.tile === tile.at && one.phase === here?.phase);
      const one = staged.find((part) => part.kind === "load") ?? staged[0];
      tile.part.hidden = !one;
      tile.words.textContent = "not touched in this phase";
      if (!one) continue;
      const [[top, bottom], [left, right]] = one.box;
      const [rows, cols] = tile.shape;
      Object.assign(tile.part.style, {
        top: `${(100 * top) / rows}%`, height: `${(100 * (bottom - top)) / rows}%`,
        left: `${(100 * left) / cols}%`, width: `${(100 * (right - left)) / cols}%`,
      });
      const part = one.full ? "" : "parts of ";
      tile.words.textContent = `${DONE[one.kind] ?? "updates"} ${part}${listed("row", top, bottom)}, ${listed("column", left, right)}`;
    }
  }

  // --- elements ------------------------------------------------------------------------------

  walk(tile, event) {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const [row, col] = tile.cursor ?? [0, 0], [down, right] = moves[event.key];
    this.point(tile, [
      Math.max(0, Math.min(tile.rows - 1, row + down)), Math.max(0, Math.min(tile.cols - 1, col + right)),
    ]);
  }

  point(tile, cursor) {
    tile.cursor = cursor;
    this.info.textContent = cursor ? this.sayElement(tile, cursor) : "";
    this.drawTile(tile);
  }

  sayElement(tile, [row, col]) {
    const element = row * tile.stride + col, { run } = this;
    if (element >= tile.shape.reduce((all, extent) => all * extent, 1)) return "";
    const last = this.last.get(tile.at).get(element);
    let said = subscript(tile, element);
    if (last === undefined) {
      said += ": not yet written";
    } else {
      const event = run.events[last[0]];
      const value = event.values?.[last[1]];
      if (value !== undefined) said += ` = ${value}`;
      said += `: written by ${this.thread(last[0], last[1])} in line ${event.line}`;
    }
    const here = run.steps[this.step];
    for (let number = here?.first ?? 0; number < (here?.end ?? 0); number++) {
      const event = run.events[number];
      if (event.tile !== tile.at || event.kind !== "load") continue;
      const readers = event.elements.flatMap((one, at) => (one === element ? [at] : []));
      if (!readers.length) continue;
      const who = readers.length === 1 ? this.thread(number, readers[0]) : counted(readers.length, "lane");
      const red = readers.some((at) => event.stale.has(at));
      said += `; read by ${who} in line ${event.line}${red ? ", STALE" : ""}`;
    }
    return said;
  }

  thread(number, position) {
    const step = this.run.steps.find((one) => number >= one.first && number < one.end);
    const [x, y] = this.state.block;
    const flat = step.warp * 32 + this.run.events[number].lanes[position];
    const place = [flat % x, Math.floor(flat / x) % y, Math.floor(flat / (x * y))];
    const axes = this.state.block.reduce((most, extent, axis) => (extent > 1 ? axis + 1 : most), 1);
    return axes === 1 ? `thread ${place[0]}` : `thread (${place.slice(0, axes).join(", ")})`;
  }

  draw() {
    for (const tile of this.tiles) this.drawTile(tile);
  }

  drawTile(tile) {
    const { canvas, side, rows, cols } = tile;
    const dots = window.devicePixelRatio || 1;
    canvas.width = cols * side * dots;
    canvas.height = rows * side * dots;
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(this.root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const [ink, paper, line, red, faint] = ["--ink", "--paper", "--line", "--red", "--faint"].map(colour);
    pen.scale(dots, dots);
    pen.fillStyle = paper;
    pen.fillRect(0, 0, cols * side, rows * side);
    const size = tile.shape.reduce((all, extent) => all * extent, 1);
    const last = this.last.get(tile.at), now = this.now.get(tile.at), past = this.past.get(tile.at);
    const warpOf = this.warpsOfEvents();
    for (let row = 0; row < rows; row++) {
      for (let col = 0; col < cols; col++) {
        const element = row * tile.stride + col;
        if (element >= size) continue;
        const x = col * side, y = row * side, store = last.get(element), what = now.get(element);
        if (store === undefined) {
          stroke(pen, line, 1, [[x, y + side, x + side, y]]);
        } else {
          pen.fillStyle = colourOf(warpOf[store[0]], this.state.warps);
          pen.fillRect(x, y, side - (side > 4), side - (side > 4));
        }
        if (what === "stale") {
          pen.fillStyle = red;
          pen.fillRect(x, y, side, side);
          stroke(pen, paper, side > 6 ? 2 : 1, [[x + 1, y + 1, x + side - 1, y + side - 1], [x + 1, y + side - 1, x + side - 1, y + 1]]);
        } else if (what === "written") {
          frame(pen, ink, x, y, side, side > 6 ? 2 : 1);
          if (side > 6) frame(pen, paper, x + 2, y + 2, side - 4, 1);
        } else if (what === "read") {
          dot(pen, ink, paper, x + side / 2, y + side / 2, side / 4);
        } else if (past.has(element)) {
          frame(pen, red, x, y, side, 1);
        }
      }
    }
    const slice = tile.shape.length > 2 ? tile.shape[tile.shape.length - 2] : rows;
    for (let row = slice; row < rows; row += slice) {
      stroke(pen, ink, 2, [[0, row * side, cols * side, row * side]]);
    }
    frame(pen, faint, 0, 0, cols * side, 1, rows * side);
    if (tile.cursor) frame(pen, ink, tile.cursor[1] * side, tile.cursor[0] * side, side, 3);
    const marks = [...now.values()];
    for (const what of ["read", "written", "stale"]) {
      canvas.dataset[what] = String(marks.filter((one) => one === what).length);
    }
  }

  warpsOfEvents() {
    if (this.run.warps === undefined) {
      this.run.warps = [];
      for (const step of this.run.steps) {
        for (let number = step.first; number < step.end; number++) this.run.warps[number] = step.warp;
      }
    }
    return this.run.warps;
  }
}

// --- pieces ----------------------------------------------------------------------------------

function buildLegend(warps) {
  const shown = [...new Set([0, Math.floor(warps / 2), warps - 1])];
  const colours = shown.map((warp) => {
    const box = make("span", { class: "smr-key" });
    box.style.background = colourOf(warp, warps);
    return make("span", {}, box, `written by warp ${warp}`);
  });
  const key = (name, words) => make("span", {}, make("span", { class: `smr-key smr-key-${name}` }), words);
  return make(
    "p", { class: "smr-legend" }, ...colours, key("none", "not yet written"),
    key("written", "written in this step"), key("read", "read in this step"), key("stale", "read stale"),
  );
}

function stroke(pen, colour, thick, ends) {
  pen.strokeStyle = colour;
  pen.lineWidth = thick;
  pen.beginPath();
  for (const [x0, y0, x1, y1] of ends) {
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
  }
  pen.stroke();
}

function frame(pen, colour, x, y, wide, thick, high = wide) {
  pen.strokeStyle = colour;
  pen.lineWidth = thick;
  pen.strokeRect(x + thick / 2, y + thick / 2, wide - thick, high - thick);
}

function dot(pen, ink, paper, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, Math.max(1, radius), 0, 2 * Math.PI);
  pen.fillStyle = paper;
  pen.fill();
  pen.strokeStyle = ink;
  pen.lineWidth = 1;
  pen.stroke();
}

function button(label, words, act) {
  const made = make("button", { type: "button", class: "smr-button", "aria-label": label }, words);
  made.addEventListener("click", act);
  return made;
}

// JupyterLab takes arrow keys and letters for itself, but from an element with this attribute.
const OWN_KEYS = "data-lm-suppress-shortcuts";

function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  if (["input", "button"].includes(tag) || "tabindex" in attributes) made.setAttribute(OWN_KEYS, "true");
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
