// The replay: the arrays of one block, step by step between its barriers, or phase by phase.
//
// `mount(place, state)` draws into any element of a page; the default export is what anywidget
// calls. `state` is what `smemnb.figures.replay.state` makes. No library, no network, no `eval`.
// Every step that is shown was recorded; the page only adds up who wrote what so far.

const WIDE = 560, HIGH = 320; // pixels that an array takes at most, about
const SIDE = 24; // pixels of an element's side at most
const MOST_SHOWN = 160; // rows and columns of an array
const ROW_ELEMS = 32; // of an array of one dimension
const WAIT_MS = 350; // between two steps of Play
const PHASE_MS = 900; // between two phases
const SHEET = 200; // pixels of the longest side of a global array
const THIN = 14; // pixels of the height of a global array of one dimension
const MOST_BOXES = 64; // into which a part of more than two dimensions is folded
const MOST_KEYS = 8; // warps that the legend names; of more it names four
const COLUMNS = 12; // phases in the table of what they do
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

function readEvent([line, kind, tile, lanes, pattern, stale, sentence, values], patterns) {
  const touched = patterns[pattern];
  return {
    line, kind, tile, sentence, values,
    elements: touched,
    lanes: lanes === null ? touched.map((_, at) => at % 32) : unpacked(lanes),
    stale: new Set(stale === null ? [] : unpacked(stale)),
  };
}

// Phases of which no single element is on the page follow the steps, each as one step of no warp.
function readRun(run, patterns) {
  const steps = run.steps.map(([phase, warp, ahead, first, end]) => ({ phase, warp, ahead, first, end }));
  const end = run.events.length;
  for (let phase = (steps.at(-1)?.phase ?? -1) + 1; phase < run.phases.length; phase++) {
    steps.push({ phase, warp: null, ahead: 0, first: end, end });
  }
  const parts = run.parts.map(([phase, tile, kind, line, where, box, full, buffers]) =>
    ({ phase, tile, kind, line, where, box, full, buffers }));
  const moves = run.moves.map(([phase, line, source, box, tile, buffer, said]) =>
    ({ phase, line, source, box, tile, buffer, said }));
  return { ...run, steps, parts, moves, events: run.events.map((event) => readEvent(event, patterns)) };
}

function sizeOf(shape) {
  return shape.reduce((all, extent) => all * extent, 1);
}

// A box of any dimensions as boxes of rows and columns, the last dimension being the columns.
export function folded(box, shape) {
  if (shape.length < 2) return [[[0, 1], box[0] ?? [0, 1]]];
  let rows = [0];
  for (let axis = 0; axis < shape.length - 2; axis++) {
    const [first, end] = box[axis];
    rows = rows.flatMap((row) => Array.from(
      { length: Math.min(end - first, MOST_BOXES) }, (_, at) => row * shape[axis] + first + at,
    )).slice(0, MOST_BOXES);
  }
  const high = shape[shape.length - 2], [[first, end], cols] = box.slice(-2);
  return rows.map((row) => [[row * high + first, row * high + end], cols]);
}

// The shared arrays as they are drawn: one that has buffers is drawn buffer by buffer.
function viewsOf(run) {
  return run.tiles.map((tile, at) => ({ ...tile, at })).filter((tile) => tile.space === "shared").flatMap((tile) => {
    const whole = { ...tile, first: 0, size: sizeOf(tile.shape), view: tile.shape, number: null };
    const buffers = run.buffers.filter(([at]) => at === tile.at);
    const apart = buffers.every(([, , first], n) => n === 0 || first >= buffers[n - 1][3]);
    if (buffers.length < 2 || !apart) return [whole];
    return buffers.map(([, number, first, end]) => {
      const size = end - first, inner = tile.shape.slice(1);
      const slab = inner.length && size === sizeOf(inner) && first % size === 0;
      return { ...tile, first, size, view: slab ? inner : [size], number };
    });
  });
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

function ranges(box) {
  return box.map(([first, end]) => (end === first + 1 ? first : `${first}:${end}`)).join(", ");
}

// What is said below an array is of the whole phase, not of the step.
function inPhase(said) {
  return said.length ? `in this phase: ${said.join("; ")}` : "not touched in this phase";
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
    this.patterns = state.patterns.map(unpacked);
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
    this.run = readRun(this.state.runs[number], this.patterns);
    this.step = 0;
    this.firstStale = this.run.steps.findIndex((step) =>
      this.run.events.slice(step.first, step.end).some((event) => event.stale.size));
    this.build();
    this.show(0);
    if (focused) this.root.querySelector(`[data-line="${focused}"]`)?.focus();
  }

  build() {
    const { run, state } = this;
    this.tiles = viewsOf(run);
    this.root.replaceChildren(
      make("p", { class: "smr-title" }, run.title),
      ...this.buildBarriers(),
      make("p", { class: `smr-summary${run.stale ? " smr-wrong" : ""}`, role: "status" }, run.summary),
      make("p", { class: "smr-how" }, run.how),
      this.buildPlayer(),
      (this.said = make("div", { class: "smr-said", role: "status", "aria-live": "polite", "aria-atomic": "true" })),
      this.buildOperands(),
      (this.moved = make("ul", { class: "smr-moves", "aria-label": "what is staged" })),
      make("div", { class: "smr-stage" }, ...[...new Set(this.tiles.map((tile) => tile.at))].map((at) =>
        make("div", { class: "smr-pair" }, ...this.tiles.filter((tile) => tile.at === at).map((tile) => this.buildTile(tile))))),
      (this.info = make("p", { class: "smr-info", role: "status", "aria-live": "polite" })),
      buildLegend(state.warps, state.runs.some((run) => run.copies)),
      this.buildTurns(),
      this.buildSource(),
      ...[...run.notes, ...state.notes].map((note) => make("p", { class: "smr-note" }, note)),
    );
  }

  // A box per barrier, and none around no boxes; of the recorded runs each lacks one at most.
  buildBarriers() {
    const boxes = this.state.runs.flatMap((run, number) => {
      if (run.without === null) return [];
      const box = make("input", { type: "checkbox", "data-line": String(run.without) });
      box.checked = number !== this.number;
      const whole = this.state.runs.findIndex((one) => one.without === null);
      box.addEventListener("change", () => this.choose(box.checked ? whole : number));
      const source = (this.state.lines[run.without] ?? "").trim();
      return [make("label", {}, box, ` line ${run.without} `, make("code", {}, source))];
    });
    if (!boxes.length) return [];
    return [make(
      "fieldset", { class: "smr-barriers" },
      make("legend", {}, "barriers; take one out to see the run without it"), ...boxes,
    )];
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
    const pace = button("Whole phases at a time", "Whole phases", () => this.setWhole(!this.whole));
    pace.classList.add("smr-whole");
    pace.setAttribute("aria-pressed", String(Boolean(this.whole)));
    this.pace = pace;
    const stale = button("Go to the first stale read", "First stale read", () => this.go(this.firstStale));
    stale.classList.add("smr-to-stale");
    stale.hidden = this.firstStale < 0;
    return make(
      "div", { class: "smr-player", role: "group", "aria-label": "Step by step" },
      button("Back to the phase before", "Phase back", () => this.go(this.phaseStart(-1))),
      button("Back one step", "Back", () => this.go(this.next(-1))),
      this.play,
      button("Step on", "Step", () => this.go(this.next(1))),
      button("On to the next phase", "Phase on", () => this.go(this.phaseStart(1))),
      pace, stale, this.slide,
    );
  }

  buildTile(tile) {
    const [rows, cols] = rowsAndCols(tile.view);
    const shownRows = Math.min(rows, MOST_SHOWN), shownCols = Math.min(cols, MOST_SHOWN);
    const wide = tile.number === null ? WIDE : WIDE / 2; // buffers stand side by side
    const side = Math.max(2, Math.min(SIDE, Math.floor(Math.min(wide / shownCols, HIGH / shownRows))));
    const cut = shownRows < rows || shownCols < cols ? `; ${shownRows} x ${shownCols} of them are drawn` : "";
    const buffer = tile.number === null ? "" : `, buffer ${tile.number}`;
    const canvas = make("canvas", {
      tabindex: "0", role: "application", "data-tile": tile.name, "data-buffer": tile.number ?? "",
      "aria-label": `${tile.name}${buffer}, ${tile.view.join(" x ")} elements; arrow keys go from one to the next`,
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
    const caption = `${tile.name}${buffer}: ${tile.dtype} ${tile.view.join(" x ")}${cut} `;
    tile.words = make("span", {});
    tile.role = make("span", { class: "smr-role" });
    tile.figure = make(
      "figure", { class: "smr-tile" }, make("figcaption", {}, caption, tile.role), canvas, tile.words,
    );
    tile.words.style.maxWidth = `${Math.max(180, shownCols * side)}px`;
    return tile.figure;
  }

  // The global arrays, whole and in one scale, on which the parts that a phase touches slide.
  buildOperands() {
    const place = new Map(this.run.order.map((at, number) => [at, number]));
    const after = (tile) => place.get(tile.at) ?? place.size + tile.at;
    this.operands = this.run.tiles.map((tile, at) => ({ ...tile, at }))
      .filter((tile) => tile.space === "global" && sizeOf(tile.shape))
      .sort((one, other) => after(one) - after(other));
    for (const tile of this.operands) {
      tile.cols = tile.shape.at(-1) ?? 1;
      tile.rows = sizeOf(tile.shape) / tile.cols;
    }
    const flat = (tile) => tile.rows === 1;
    const scaleOf = (tiles) => SHEET / Math.max(1, ...tiles.flatMap((tile) => [tile.rows, tile.cols]));
    const scale = scaleOf(this.operands.filter((tile) => !flat(tile)));
    const thin = scaleOf(this.operands.filter(flat));
    return make("div", { class: "smr-operands" }, ...this.operands.map((tile) => {
      tile.wide = Math.max(8, tile.cols * (flat(tile) ? thin : scale));
      tile.high = flat(tile) ? THIN : Math.max(Math.min(4 * tile.rows, 40), tile.rows * scale);
      tile.parts = [];
      tile.canvas = make("canvas", { class: "smr-trail" });
      tile.words = make("span", {});
      tile.sheet = make("div", { class: "smr-sheet", "data-array": tile.name, "aria-hidden": "true" }, tile.canvas);
      for (const [at, box] of this.run.owned) {
        if (at === tile.at) this.addBoxes(tile, folded(box, tile.shape), "smr-own");
      }
      tile.sheet.style.width = `${tile.wide}px`;
      tile.sheet.style.height = `${tile.high}px`;
      const figure = make(
        "figure", {}, make("figcaption", {}, `${tile.name}: ${tile.shape.join(" x ")}`), tile.sheet, tile.words,
      );
      tile.words.style.maxWidth = `${Math.max(150, tile.wide)}px`;
      return figure;
    }));
  }

  addBoxes(tile, boxes, name) {
    return boxes.map((box) => {
      const made = make("div", { class: name });
      this.putBox(tile, made, box);
      tile.sheet.append(made);
      return made;
    });
  }

  putBox(tile, made, [[top, bottom], [left, right]]) {
    Object.assign(made.style, {
      top: `${(100 * top) / tile.rows}%`, height: `${(100 * (bottom - top)) / tile.rows}%`,
      left: `${(100 * left) / tile.cols}%`, width: `${(100 * (right - left)) / tile.cols}%`,
    });
  }

  // What each phase does with each shared array, or with each of its buffers.
  buildTurns() {
    this.turns = make("table", { class: "smr-turns" });
    return make("div", { class: "smr-scroll" }, this.turns);
  }

  buildSource() {
    this.source = new Map(Object.entries(this.state.lines).map(([line, text]) => [
      Number(line),
      make("div", { class: "smr-line" }, make("span", { class: "smr-number" }, line), text),
    ]));
    this.text = make("div", {
      class: "smr-source", tabindex: "0", role: "group", "aria-label": "source of the kernel",
    }, ...this.source.values());
    return this.text;
  }

  // Bring the first of the lines that run into the part of the source that is seen.
  scrollSource() {
    const node = [...this.source.values()].find((one) => one.classList.contains("smr-now"));
    if (!node) return;
    const { top, bottom } = this.text.getBoundingClientRect(), here = node.getBoundingClientRect();
    if (here.top < top || here.bottom > bottom) {
      this.text.scrollTop += (here.top + here.bottom - top - bottom) / 2;
    }
  }

  // --- steps ---------------------------------------------------------------------------------

  phaseStart(by) {
    const { steps } = this.run;
    if (this.whole) return this.next(by);
    const here = steps[this.step]?.phase ?? 0;
    if (by > 0) {
      const next = steps.findIndex((step) => step.phase > here);
      return next < 0 ? steps.length - 1 : next;
    }
    const start = steps.findIndex((step) => step.phase === here);
    return start < this.step ? start : Math.max(0, steps.findIndex((step) => step.phase === here - 1));
  }

  // The last step of a phase, which shows all of it.
  phaseEnd(phase) {
    const { steps } = this.run;
    return steps.findLastIndex((step) => step.phase <= Math.max(phase, steps[0]?.phase ?? 0));
  }

  next(by) {
    const here = this.run.steps[this.step]?.phase ?? 0;
    return this.whole ? this.phaseEnd(here + by) : this.step + by;
  }

  go(step) {
    this.stop();
    this.show(step);
  }

  setWhole(whole) {
    this.stop();
    this.whole = whole;
    this.pace.setAttribute("aria-pressed", String(whole));
    this.show(this.step);
  }

  start() {
    if (this.step >= this.run.steps.length - 1) this.show(0);
    this.play.textContent = "Pause";
    this.play.setAttribute("aria-label", "Pause");
    this.timer = window.setInterval(() => {
      this.show(this.next(1));
      const [first, end] = this.span();
      const red = this.run.events.slice(first, end).some((event) => event.stale.size);
      if (red || this.step >= this.run.steps.length - 1) this.stop();
    }, this.whole ? PHASE_MS : WAIT_MS);
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
    if (event.target.tagName === "CANVAS" || (event.target.tagName === "INPUT" && !this.whole)) return;
    const steps = {
      ArrowLeft: this.next(-1), ArrowRight: this.next(1), Home: 0, End: this.run.steps.length - 1,
      PageUp: this.phaseStart(-1), PageDown: this.phaseStart(1),
    };
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.go(steps[event.key]);
  }

  // The events that are shown as what happens now: of a step, or of its whole phase.
  span() {
    const { steps } = this.run, here = steps[this.step];
    if (!here) return [0, 0];
    return [this.whole ? steps.find((step) => step.phase === here.phase).first : here.first, here.end];
  }

  // Add up all steps to this one, and show it.
  show(step) {
    const { run } = this;
    this.step = Math.max(0, Math.min(step, run.steps.length - 1));
    if (this.whole && run.steps.length) this.step = this.phaseEnd(run.steps[this.step].phase);
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
      const [first] = this.span();
      for (let number = 0; number < here.end; number++) this.add(number, number >= first);
    }
    this.slide.value = String(this.step);
    this.showWords(here);
    this.showMoves(here);
    this.showParts(here);
    this.showTurns(here);
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
    const all = this.whole || here.warp === null;
    const title = run.phases[here.phase], until = title.slice(title.indexOf(","));
    const head = all
      ? `Phase ${here.phase + 1} of ${run.phases.length}${until}; all warps`
      : `Step ${this.step + 1} of ${run.steps.length}: ${title}; warp ${here.warp}${ahead}`;
    const done = new Map();
    let stale = 0, first = "";
    const [begin, end] = this.span();
    for (const event of run.events.slice(begin, end)) {
      const key = `line ${event.line} ${DONE[event.kind] ?? "updates"} ${run.tiles[event.tile].name}`;
      done.set(key, (done.get(key) ?? 0) + event.elements.length);
      stale += event.stale.size;
      if (event.stale.size && !first) first = event.sentence;
    }
    if (here.warp === null) {
      for (const part of run.parts.filter((one) => one.phase === here.phase)) {
        done.set(`line ${part.line} ${this.sayPart(part)}`, null);
      }
    }
    const words = [...done].map(([key, count]) => (count === null ? key : `${key}, ${counted(count, "element")}`));
    const red = stale
      ? [make("p", { class: "smr-wrong smr-first" }, `${counted(stale, "stale read")}${first ? `; first: ${first}` : ""}`)]
      : [];
    this.said.replaceChildren(make("p", { class: "smr-head" }, head), make("p", {}, words.join("; ")), ...red);
    this.slide.setAttribute("aria-valuetext", `${head}${stale ? `; ${counted(stale, "stale read")}` : ""}`);
    Object.assign(this.root.dataset, {
      step: String(this.step), phase: String(here.phase + 1), warp: all ? "all" : String(here.warp), stale: String(stale),
      without: run.without === null ? "" : String(run.without),
    });
    const parts = here.warp === null ? run.parts.filter((one) => one.phase === here.phase) : [];
    const lines = new Set([...run.events.slice(begin, end), ...parts].map((one) => one.line));
    for (const [line, node] of this.source) {
      node.classList.toggle("smr-now", lines.has(line));
      node.classList.toggle("smr-out", line === run.without);
    }
    this.scrollSource();
  }

  sayPart({ tile, kind, full, box }) {
    return `${DONE[kind] ?? "updates"} ${full ? "" : "parts of "}${this.run.tiles[tile].name}[${ranges(box)}]`;
  }

  showMoves(here) {
    const moves = this.run.moves.filter((one) => one.phase === here?.phase);
    this.moved.replaceChildren(...moves.map((one) => make("li", {}, one.said)));
  }

  // What a phase does with a shared array: "fill", "read", "fill and read" or "at rest".
  roleOf(tile, phase) {
    const parts = this.partsOf(tile, phase);
    const fills = parts.some((one) => one.kind !== "load"), reads = parts.some((one) => one.kind === "load");
    return [fills && "fill", reads && "read"].filter(Boolean).join(" and ") || "at rest";
  }

  partsOf(tile, phase) {
    return this.run.parts.filter((one) => one.tile === tile.at && one.phase === phase
      && (tile.number === null || one.buffers.includes(tile.number)));
  }

  // Which part of an array is read in a phase and which is filled: of two buffers one each.
  showParts(here) {
    for (const tile of this.tiles) {
      const role = this.roleOf(tile, here?.phase), parts = this.partsOf(tile, here?.phase);
      tile.role.textContent = role;
      tile.role.dataset.role = tile.figure.dataset.role = role;
      tile.words.textContent = inPhase(parts.map((one) => `line ${one.line} ${this.sayPart(one)}`));
    }
  }

  showTurns(here) {
    const { length } = this.run.phases, now = here?.phase ?? 0;
    const begin = Math.max(0, Math.min(now - COLUMNS / 2, length - COLUMNS));
    const phases = Array.from({ length: Math.min(COLUMNS, length) }, (_, at) => begin + at);
    const current = (phase, cell) => {
      if (phase === now) cell.setAttribute("aria-current", "step");
      return cell;
    };
    const head = phases.map((phase) => current(phase, make("th", { scope: "col" }, String(phase + 1))));
    const rows = this.tiles.map((tile) => {
      const name = tile.number === null ? tile.name : `${tile.name}, buffer ${tile.number}`;
      const cells = phases.map((phase) => {
        const role = this.roleOf(tile, phase);
        return current(phase, make("td", { "data-role": role }, role === "at rest" ? "" : role));
      });
      return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
    });
    this.turns.replaceChildren(
      make("caption", {}, "What each phase does with the shared arrays"),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "phase"), ...head)),
      make("tbody", {}, ...rows),
    );
  }

  // Each part slides to where the phase has it, and rests there until another phase moves it.
  showOperands(here) {
    const now = here?.phase ?? -1;
    for (const tile of this.operands) {
      const mine = this.run.parts.filter((one) => one.tile === tile.at && one.phase <= now);
      const boxes = [], said = [];
      for (const loads of [true, false]) {
        const same = mine.filter((one) => (one.kind === "load") === loads);
        const last = Math.max(-1, ...same.map((one) => one.phase));
        const parts = same.filter((one) => one.phase === last).sort((one, other) => one.line - other.line);
        parts.forEach((one) => folded(one.box, tile.shape).forEach((box) => boxes.push([loads, last === now, box])));
        if (last === now) said.push(...parts.map((one) => `line ${one.line} ${this.sayPart(one)}`));
      }
      this.showBoxes(tile, boxes);
      const owned = this.run.owned.filter(([at]) => at === tile.at);
      const own = owned.map(([, box]) => `the block writes ${tile.name}[${ranges(box)}] in all`);
      tile.words.textContent = [inPhase(said), ...own].join("; ");
    }
  }

  showBoxes(tile, boxes) {
    for (const loads of [true, false]) {
      const kind = loads ? "smr-load" : "smr-store";
      const old = tile.parts.filter((one) => one.classList.contains(kind));
      boxes.filter(([one]) => one === loads).forEach(([, active, box], at) => {
        const made = old[at] ?? this.addBoxes(tile, [box], `smr-part ${kind}`)[0];
        if (!old[at]) tile.parts.push(made);
        made.hidden = false;
        made.classList.toggle("smr-resting", !active);
        this.putBox(tile, made, box);
      });
      const count = boxes.filter(([one]) => one === loads).length;
      old.slice(count).forEach((one) => { one.hidden = true; });
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
    const { run } = this, element = tile.first + row * tile.stride + col;
    if (element >= tile.first + tile.size) return "";
    if (run.steps[this.step]?.warp === null) return `${subscript(tile, element)}: of this phase no single elements are on the page`;
    const last = this.last.get(tile.at).get(element);
    let said = subscript(tile, element);
    if (last === undefined) {
      said += ": not yet written";
    } else {
      const event = run.events[last[0]];
      const value = event.values?.[last[1]];
      if (value !== undefined) said += ` = ${value}`;
      const way = this.underWay(last[0], run.steps[this.step]?.end ?? 0);
      said += `: ${way ? "under way, sent" : "written"} by ${this.thread(last[0], last[1])} in line ${event.line}`;
    }
    const [first, end] = this.span();
    for (let number = first; number < end; number++) {
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
    for (const tile of this.operands) this.drawTrail(tile);
  }

  // On a global array: what earlier phases loaded, and what is touched in this step.
  drawTrail(tile) {
    const { canvas, wide, high, rows, cols } = tile, dots = window.devicePixelRatio || 1;
    canvas.width = Math.round(wide * dots);
    canvas.height = Math.round(high * dots);
    const pen = canvas.getContext("2d"), style = getComputedStyle(this.root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const across = wide / cols, down = high / rows, here = this.run.steps[this.step];
    pen.scale(dots, dots);
    pen.fillStyle = colour("--past");
    for (const part of this.run.parts) {
      if (part.tile !== tile.at || part.phase >= (here?.phase ?? 0)) continue;
      for (const [[top, bottom], [left, right]] of folded(part.box, tile.shape)) {
        pen.fillRect(left * across, top * down, (right - left) * across, (bottom - top) * down);
      }
    }
    // whole dots, so that neighbours touch; an element has one at least
    const ends = (at, each) => {
      const from = Math.round(at * each * dots);
      return [from / dots, Math.max(from + 1, Math.round((at + 1) * each * dots)) / dots];
    };
    const [first, end] = this.span(), begin = this.phaseFirst(), touched = new Set();
    const fill = (from, to, name) => {
      for (const event of this.run.events.slice(from, to)) {
        if (event.tile !== tile.at) continue;
        pen.fillStyle = colour(name === "--staged" && event.kind !== "load" ? "--faint" : name);
        for (const element of event.elements) {
          if (name === "--ink") touched.add(element);
          const row = Math.floor(element / cols), col = element % cols;
          const [x, right] = ends(col, across), [y, bottom] = ends(row, down);
          pen.fillRect(x, y, right - x, bottom - y);
        }
      }
    };
    if (!this.whole) fill(begin, first, "--staged");
    fill(first, end, this.whole ? "--staged" : "--ink");
    tile.sheet.dataset.now = String(touched.size);
  }

  phaseFirst() {
    const { steps } = this.run, here = steps[this.step];
    return here ? steps.find((step) => step.phase === here.phase).first : 0;
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
    const last = this.last.get(tile.at), now = this.now.get(tile.at), past = this.past.get(tile.at);
    const warpOf = this.warpsOfEvents(), known = this.run.steps[this.step]?.warp !== null;
    if (!known) texture(pen, tile.figure.dataset.role, cols * side, rows * side, colour);
    const end = this.run.steps[this.step]?.end ?? 0;
    let flying = 0;
    for (let row = 0; known && row < rows; row++) {
      for (let col = 0; col < cols; col++) {
        const element = tile.first + row * tile.stride + col;
        if (element >= tile.first + tile.size) continue;
        const x = col * side, y = row * side;
        const store = last.get(element), what = now.get(element);
        if (store === undefined) {
          stroke(pen, line, 1, [[x, y + side, x + side, y]]);
        } else {
          const shade = colourOf(warpOf[store[0]], this.state.warps);
          if (this.underWay(store[0], end)) {
            flying++; // a frame with a small middle: the element itself is not there yet
            frame(pen, shade, x, y, side - (side > 4), 1);
            pen.fillStyle = shade;
            pen.fillRect(x + side / 3, y + side / 3, side / 3, side / 3);
          } else {
            pen.fillStyle = shade;
            pen.fillRect(x, y, side - (side > 4), side - (side > 4));
          }
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
    const slice = tile.view.length > 2 ? tile.view[tile.view.length - 2] : rows;
    for (let row = slice; row < rows; row += slice) {
      stroke(pen, ink, 2, [[0, row * side, cols * side, row * side]]);
    }
    frame(pen, faint, 0, 0, cols * side, 1, rows * side);
    if (tile.cursor) frame(pen, ink, tile.cursor[1] * side, tile.cursor[0] * side, side, 3);
    canvas.dataset.underWay = String(flying);
    const marks = [...now].filter(([one]) => one >= tile.first && one < tile.first + tile.size).map(([, what]) => what);
    for (const what of ["read", "written", "stale"]) {
      canvas.dataset[what] = String(marks.filter((one) => one === what).length);
    }
  }

  // Whether a copy is issued and nobody knows yet that it has arrived, after so many events.
  underWay(event, end) {
    this.run.arrivals ??= new Map(this.run.copies ?? []);
    return (this.run.arrivals.get(event) ?? 0) > end;
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

function buildLegend(warps, copies) {
  const all = Array.from({ length: warps }, (_, warp) => warp);
  const four = [0, Math.floor(warps / 3), Math.floor((2 * warps) / 3), warps - 1];
  const shown = warps <= MOST_KEYS ? all : four;
  const colours = shown.map((warp) => {
    const box = make("span", { class: "smr-key" });
    box.style.background = colourOf(warp, warps);
    return make("span", {}, box, `written by warp ${warp}`);
  });
  const key = (name, words) => make("span", {}, make("span", { class: `smr-key smr-key-${name}` }), words);
  return make(
    "p", { class: "smr-legend" }, ...colours, key("none", "not yet written"),
    ...(copies ? [key("way", "copy under way")] : []),
    key("written", "written now"), key("read", "read now"), key("stale", "read stale"),
    key("load", "part of a global array that the phase reads"), key("store", "part that it writes"),
    key("own", "what the block writes in all"),
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

// What a phase does with an array as a whole: oblique lines where it is filled, circles where read.
function texture(pen, role, wide, high, colour) {
  pen.save();
  pen.beginPath();
  pen.rect(0, 0, wide, high);
  pen.clip();
  if (role.includes("fill")) {
    for (let x = -high; x < wide; x += 10) stroke(pen, colour("--staged"), 2, [[x, high, x + high, 0]]);
  }
  if (role.includes("read")) {
    for (let x = 8; x < wide; x += 16) {
      for (let y = 8; y < high; y += 16) dot(pen, colour("--ink"), colour("--paper"), x, y, 3);
    }
  }
  pen.restore();
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
