// The explorer: 32 lanes of one shared-memory request over 32 banks, and the tile beside them.
//
// `mount(place, state)` draws into any element of a page; the default export is what anywidget
// calls. `state` is what `smemnb.figures.explorer.state` makes. No library, no network, no `eval`.
// The counts are those of bank_rule.js; what is drawn is the request that was counted.

import { BANKS, LANES, WIDTHS } from "./bank_rule.js";
import { SWIZZLES, misfit } from "./layout.js";
import {
  bankOf, holds, summary, tileBytes, tracedRequest, typedRequest, usedNames,
} from "./request.js";

const SVG = "http://www.w3.org/2000/svg";
const MOST_SHOWN = 64; // rows and columns of the tile
const LABEL = 62; // pixels left of lanes and banks
const EXAMPLES = ["lane * stride", "lane", "tile[tx, ty]", "tile[ty, tx]", "lane // 2", "0"];
const CIVIDIS = [
  [18, 53, 112], [59, 73, 108], [87, 92, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 180, 105], [254, 232, 56],
];
let mounted = 0;

export function mount(place, state) {
  const explorer = new Explorer(place, state);
  return {
    update: (next) => explorer.begin(next),
    destroy: () => explorer.end(),
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

class Explorer {
  constructor(place, state) {
    this.id = `smb${(mounted += 1)}`;
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.root = make("section", { class: "smb", "aria-label": "Bank explorer" });
    place.replaceChildren(this.root);
    this.sizes = new ResizeObserver(() => this.resize());
    this.begin(state);
    this.sizes.observe(this.root);
  }

  // Show a state from its beginning.
  begin(state) {
    this.stop();
    this.lines = state.lines ?? [];
    this.own = { tile: { ...state.tile }, access: { ...state.access } };
    this.line = this.lines.length ? (state.line ?? 0) : -1; // -1: an index of the learner's own
    this.number = this.lines.length ? (state.request ?? 0) : 0;
    this.changes = { pad: 0, swizzle: "none", bits: 0, base: 0, shift: 0 }; // of a recorded tile
    this.lit = null;
    this.pinned = false;
    this.turn = 1; // 0: at the lanes, 1: queued, 1 + n: after wavefront n
    this.build(state);
    this.count();
  }

  end() {
    this.stop();
    this.sizes.disconnect();
    this.root.remove();
  }

  // --- what is shown -------------------------------------------------------------------------

  get traced() {
    return this.line >= 0 ? this.lines[this.line] : null;
  }

  get tile() {
    return this.traced ? { ...this.traced.tile, ...this.changes } : this.own.tile;
  }

  get changed() {
    return this.changes.pad !== 0 || this.changes.swizzle !== "none";
  }

  // Count the request of the present settings, and show all of it.
  count() {
    this.stop();
    this.turn = 1;
    this.request = this.traced
      ? tracedRequest(this.tile, this.traced, this.traced.requests[this.number])
      : typedRequest(this.own.tile, this.own.access);
    if (this.request.problem) this.lit = null;
    this.showControls();
    this.showSummary();
    this.showTile();
    this.showBoard();
    this.showTurn();
    this.showLit();
    this.resize();
  }

  // --- the page, built once per state --------------------------------------------------------

  build(state) {
    this.root.replaceChildren(
      this.buildLines(),
      this.buildControls(),
      (this.summary = make("p", {
        class: "smb-summary", role: "status", "aria-live": "polite", "aria-atomic": "true",
      })),
      (this.detail = make("p", { class: "smb-detail" })),
      make("div", { class: "smb-stage" }, this.buildBoard(), this.buildTile()),
      ...(state.notes ?? []).map((note) => make("p", { class: "smb-note" }, note)),
    );
  }

  buildLines() {
    if (!this.lines.length) return "";
    const options = this.lines.map((line, i) => option(i, line.label));
    this.chooser = make("select", {}, ...options, option(-1, "an index of your own"));
    this.chooser.addEventListener("change", () => {
      this.line = Number(this.chooser.value);
      this.number = this.line < 0 ? 0 : this.lines[this.line].worst;
      this.changes = { ...this.changes, pad: 0, swizzle: "none" };
      this.count();
    });
    this.before = button("Previous request", "‹", () => this.go(-1));
    this.after = button("Next request", "›", () => this.go(1));
    this.which = make("span", { class: "smb-which" });
    this.source = make("code", { class: "smb-source" });
    this.stepper = make("span", { class: "smb-stepper" }, this.before, this.which, this.after);
    return make(
      "div", { class: "smb-lines" },
      make("label", { class: "smb-field" }, make("span", {}, "access"), this.chooser),
      this.stepper,
      this.source,
    );
  }

  go(by) {
    const most = this.traced.requests.length - 1;
    this.number = Math.min(most, Math.max(0, this.number + by));
    this.count();
  }

  buildControls() {
    const { access } = this.own;
    const places = () => (this.traced ? this.changes : this.own.tile);
    const tell = (change) => {
      change();
      this.count();
    };
    const slider = (name, low, high, get, set) => {
      const field = new Slider(name, low, high, get, (value) => tell(() => set(value)));
      this.fields.push(field);
      return field.box;
    };
    const choice = (name, options, get, set, fits = () => "") => {
      const field = new Choice(name, options, get, (value) => tell(() => set(value)), fits);
      this.fields.push(field);
      return field.box;
    };
    this.fields = [];
    const pad = slider("pad", 0, 16, () => places().pad, (value) => (places().pad = value));
    const swizzle = choice(
      "swizzle", Object.entries(SWIZZLES), () => places().swizzle,
      (value) => this.swizzleBy(places(), value),
      (value) => (value === "bits" ? "" : misfit(this.tile, value)),
    );
    this.bits = ["bits", "base", "shift"].map((name) =>
      slider(name, 0, 12, () => places()[name], (value) => (places()[name] = value)));
    const bytes = WIDTHS.map((size) => [size, size === 1 ? "1 byte" : `${size} bytes`]);
    const wide = WIDTHS.map((size) => [size, size === 1 ? "1 element" : `${size} elements`]);
    const own = {
      itemsize: choice("element", bytes, () => this.own.tile.itemsize, (value) => {
        this.own.tile.itemsize = Number(value);
        access.vector = Math.min(access.vector, 16 / this.own.tile.itemsize);
      }),
      vector: choice(
        "vector", wide, () => access.vector, (value) => (access.vector = Number(value)),
        (value) => (value * this.own.tile.itemsize > 16 ? "a lane moves at most 16 bytes" : ""),
      ),
      access: choice(
        "access", [["load", "load"], ["store", "store"]], () => access.kind,
        (value) => (access.kind = value),
      ),
      lanes: slider("active lanes", 1, LANES, () => access.lanes, (value) => (access.lanes = value)),
      ty: slider("ty", 0, 31, () => access.ty, (value) => (access.ty = value)),
      stride: slider("stride", 0, 64, () => access.stride, (value) => (access.stride = value)),
    };
    this.stride = own.stride;
    const { itemsize, vector, access: kind, lanes, ty, stride } = own;
    const group = (name, ...fields) => make(
      "div", { class: "smb-group", role: "group", "aria-label": name },
      make("span", { class: "smb-legend-name", "aria-hidden": "true" }, name), ...fields);
    this.ownFields = [itemsize, group("the warp asks", this.buildIndex(), stride, ty, lanes, kind, vector)];
    return make("div", { class: "smb-controls" },
      this.ownFields[1], group("layout of the tile", pad, swizzle, ...this.bits, itemsize));
  }

  swizzleBy(layout, value) {
    layout.swizzle = value;
    if (value === "bits" && !layout.bits) {
      const across = Math.max(1, Math.floor(Math.log2(this.tile.cols)));
      Object.assign(layout, { bits: Math.min(5, across), base: 0, shift: across });
    }
  }

  buildIndex() {
    const list = `${this.id}-examples`;
    this.index = make("input", {
      type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off", list,
      "aria-describedby": `${this.id}-names`, class: "smb-index", value: this.own.access.index,
    });
    this.index.addEventListener("input", () => {
      this.own.access.index = this.index.value;
      this.count();
    });
    const names = "lane = tx = col, ty = row, stride; + - * // % ^ & | << >>";
    return make(
      "label", { class: "smb-field smb-wide" },
      make("span", {}, "index"),
      this.index,
      make("datalist", { id: list }, ...EXAMPLES.map((text) => make("option", { value: text }))),
      make("small", { id: `${this.id}-names` }, names),
    );
  }

  buildBoard() {
    const pieces = (many, name) => Array.from({ length: many }, (_, number) => {
      const piece = make("button", { type: "button", class: `smb-${name}`, tabindex: "-1" });
      piece.append(make("span", {}, String(number)));
      return piece;
    });
    this.lanes = pieces(LANES, "lane");
    this.banks = pieces(BANKS, "bank");
    this.bankWays = this.banks.map((bank) => bank.appendChild(make("b", {})));
    this.tokens = Array.from({ length: LANES }, (_, lane) => {
      const token = make("div", { class: "smb-token", "aria-hidden": "true" });
      token.style.setProperty("--lane", lane);
      return token;
    });
    this.way = document.createElementNS(SVG, "svg");
    this.way.setAttribute("class", "smb-way");
    this.way.setAttribute("aria-hidden", "true");
    this.axis = make("div", { class: "smb-axis", "aria-hidden": "true" });
    this.phases = make("div", { "aria-hidden": "true" });
    this.air = make("div", { class: "smb-air" }, this.phases, ...this.tokens, this.way);
    const row = (name, said, list, below = "") => make(
      "div", { class: "smb-row" },
      make("span", { class: "smb-label", "aria-hidden": "true" }, name, make("small", {}, below)),
      make("div", { class: "smb-list", role: "toolbar", "aria-label": said }, ...list),
    );
    const board = make(
      "div", { class: "smb-board" },
      row("lane", "Lanes of the warp; arrow keys go from one to the next", this.lanes),
      make("div", { class: "smb-row" }, this.axis, this.air),
      row("bank", "Banks; arrow keys go from one to the next", this.banks, "n-way"),
      this.buildPlayer(),
      (this.info = make("p", { class: "smb-info" })),
    );
    this.walk(this.lanes, (number) => ({ kind: "lane", number }));
    this.walk(this.banks, (number) => ({ kind: "bank", number }));
    this.board = board;
    return board;
  }

  buildPlayer() {
    this.back = button("Back one wavefront", "Back", () => this.show(this.turn - 1));
    this.play = button("Play", "Play", () => (this.timer ? this.stop() : this.start()));
    this.step = button("Step one wavefront on", "Step", () => this.show(this.turn + 1));
    this.slide = make("input", { type: "range", min: "0", "aria-label": "wavefront" });
    this.slide.addEventListener("input", () => this.show(Number(this.slide.value)));
    this.said = make("span", { class: "smb-turn", role: "status", "aria-live": "polite" });
    return make(
      "div", { class: "smb-player", role: "group", "aria-label": "Wavefront by wavefront" },
      this.back, this.play, this.step, this.slide, this.said,
    );
  }

  buildTile() {
    this.caption = make("p", { class: "smb-caption", id: `${this.id}-tile` });
    this.grid = make("div", { class: "smb-grid", role: "grid", "aria-labelledby": `${this.id}-tile` });
    this.cells = [];
    this.shape = "";
    this.grid.addEventListener("pointerover", (event) => {
      const cell = event.target.closest("[data-row]");
      if (cell && !this.pinned) this.light(this.litElement(cell));
    });
    this.grid.addEventListener("pointerleave", () => this.unlight());
    this.grid.addEventListener("focusin", (event) => {
      const cell = event.target.closest("[data-row]");
      if (cell) this.light(this.litElement(cell), true);
    });
    this.grid.addEventListener("focusout", () => this.unlight(true));
    this.grid.addEventListener("keydown", (event) => this.walkTile(event));
    return make("div", { class: "smb-tile" }, this.caption, this.grid, buildLegend());
  }

  // --- controls and words --------------------------------------------------------------------

  showControls() {
    const { traced } = this;
    if (this.lines.length) {
      this.chooser.value = String(this.line);
      this.stepper.hidden = this.source.hidden = !traced;
    }
    if (traced) {
      const request = traced.requests[this.number];
      const times = request.times === 1 ? "made once" : `made ${request.times} times`;
      this.which.textContent =
        `request ${this.number + 1} of ${traced.requests.length}, ${times}, ` +
        `first by block (${request.block.join(", ")}), warp ${request.warp}`;
      this.before.disabled = this.number === 0;
      this.after.disabled = this.number === traced.requests.length - 1;
      this.source.textContent = `${traced.number}  ${traced.source}`;
    }
    for (const field of this.ownFields) field.hidden = Boolean(traced);
    for (const field of this.bits) field.hidden = this.tile.swizzle !== "bits";
    for (const field of this.fields) field.show();
    const used = usedNames(this.own.access.index);
    this.stride.querySelector("input").disabled = !used.has("stride");
    this.stride.title = used.has("stride") ? "" : "the index does not use stride";
    const typed = !traced && Boolean(this.request.typed);
    this.index.setAttribute("aria-invalid", String(typed));
  }

  showSummary() {
    const { request, tile, traced, root } = this;
    root.classList.toggle("smb-broken", Boolean(request.problem));
    if (request.problem) {
      setText(this.summary, request.problem);
      for (const name of ["ways", "wavefronts", "extra"]) delete root.dataset[name];
      this.detail.textContent = "";
      return;
    }
    const { served } = request;
    const { ways, wavefronts, extra } = served;
    Object.assign(root.dataset, { ways, wavefronts, extra });
    root.classList.toggle("smb-conflict", extra > 0);
    setText(this.summary, summary(served));
    const said = [
      `${served.kind.replace("_", " ")} of ${counted(served.width, "byte")} by ` +
        `${counted(served.lanes, "lane")} (model)`,
    ];
    if (served.phases.length > 1) said.push(`${served.phases.length} phases`);
    if (served.multicast) said.push("some lanes share a word");
    said.push(`the tile takes ${tileBytes(tile).toLocaleString("en")} bytes`);
    const outside = request.lanes.filter((lane) => lane?.outside).length;
    if (outside) said.push(`${counted(outside, "lane")} outside the tile`);
    this.detail.textContent = `${said.join("; ")}.`;
    if (traced) this.detail.textContent += ` ${this.lineText()}`;
  }

  // What the trace counted on this line, and what it would be with another layout.
  lineText() {
    const { traced } = this;
    const how = this.changed ? " as recorded (pad 0, swizzle none)" : "";
    const whole = `${traced.access}, whole launch${how}: ` +
      `${counted(traced.made, "request")}, ` +
      `${counted(traced.wavefronts, "wavefront")}, ` +
      `${traced.extra.toLocaleString("en")} extra.`;
    if (!this.changed) return whole;
    const before = tracedRequest(traced.tile, traced, traced.requests[this.number]);
    return `${whole} This request as recorded: ${summary(before.served)}.`;
  }

  // --- lanes, banks and what flies between them ----------------------------------------------

  showBoard() {
    const { served, problem } = this.request;
    this.lanes.forEach((piece, lane) => {
      const on = Boolean(served?.active[lane]);
      piece.classList.toggle("smb-off", !on);
      piece.setAttribute("aria-label", problem ? `lane ${lane}` : this.laneText(lane));
    });
    this.banks.forEach((piece, bank) => {
      const ways = served?.bankWays[bank] ?? 0;
      this.bankWays[bank].textContent = ways || "";
      piece.classList.toggle("smb-off", ways === 0);
      piece.classList.toggle("smb-busy", ways > 1);
      piece.setAttribute("aria-label", this.bankText(bank));
    });
    this.tokens.forEach((token, lane) => {
      const on = Boolean(served?.active[lane]);
      token.hidden = !on;
      token.classList.toggle("smb-extra", on && served.rank[lane] > 0);
    });
    const wavefronts = served?.wavefronts ?? 0;
    this.slide.max = String(wavefronts + 1);
    const step = wavefronts > 16 ? 8 : wavefronts > 8 ? 4 : 1;
    const numbers = Array.from({ length: wavefronts }, (_, i) => i + 1);
    this.axis.replaceChildren(
      ...numbers.filter((n) => n === 1 || n % step === 0).map((n) => {
        const mark = make("span", {}, String(n));
        mark.dataset.n = n;
        mark.style.setProperty("--n", n);
        return mark;
      }),
      make("span", { class: "smb-axis-name" }, "wavefront"),
    );
    this.phases.replaceChildren(...this.phaseMarks());
    for (const list of [this.lanes, this.banks]) {
      if (!list.some((piece) => piece.tabIndex === 0)) list[0].tabIndex = 0;
    }
  }

  // A line above the wavefronts of each phase but the last.
  phaseMarks() {
    const { served } = this.request;
    return (served?.phases ?? []).slice(0, -1).map((lanes, number) => {
      const last = Math.max(...lanes.map((lane) => served.wavefront[lane])) + served.passes - 1;
      const mark = make("div", { class: "smb-phase" }, `phase ${number + 1}`);
      mark.style.setProperty("--n", last);
      mark.dataset.last = last;
      return mark;
    });
  }

  // Where everything is at this turn.
  showTurn() {
    const { served } = this.request;
    const { turn, air } = this;
    const done = Math.max(0, turn - 1);
    this.slide.value = String(turn);
    this.back.disabled = !served || turn === 0;
    this.step.disabled = !served || turn > served.wavefronts;
    this.play.disabled = !served;
    const words = this.turnText(done);
    this.slide.setAttribute("aria-valuetext", words);
    this.said.setAttribute("aria-live", this.timer ? "off" : "polite");
    setText(this.said, words);
    for (const cell of this.cells.flat()) {
      const wavefront = Number(cell.dataset.wavefront || 0);
      cell.classList.toggle("smb-now", wavefront > 0 && wavefront === done);
      cell.classList.toggle("smb-done", wavefront > 0 && wavefront < done);
    }
    if (!served) return;
    air.style.setProperty("--done", done);
    this.axis.style.setProperty("--done", done);
    this.axis.classList.toggle("smb-away", turn === 0);
    for (const mark of this.axis.children) {
      mark.hidden = Number(mark.dataset.n) <= done; // the axis' name has no number
    }
    for (const mark of this.phases.children) {
      mark.hidden = turn === 0 || Number(mark.dataset.last) <= done;
    }
    this.root.classList.toggle("smb-flying", Boolean(this.timer) && turn <= 1);
    this.tokens.forEach((token, lane) => {
      if (!served.active[lane]) return;
      const wavefront = served.wavefront[lane];
      const first = served.word[lane] % BANKS;
      const asking = turn === 0;
      const gone = !asking && wavefront + served.passes - 1 <= done;
      token.style.setProperty("--x", asking ? lane : first);
      token.style.setProperty("--span", asking ? 1 : served.span);
      token.style.setProperty("--up", asking ? 0 : Math.max(0, wavefront - done));
      token.classList.toggle("smb-asking", asking);
      token.classList.toggle("smb-gone", gone);
      const many = !asking && served.group[lane] > 1;
      token.classList.toggle("smb-many", many);
      const text = many ? `×${served.group[lane]}` : String(lane);
      if (token.textContent !== text) token.textContent = text;
    });
    this.drawWays();
  }

  turnText(done) {
    const { served } = this.request;
    if (!served) return "";
    if (this.turn === 0) return `${counted(served.lanes, "lane")} ask at once`;
    if (done === 0) return "queued at the banks";
    const lanes = served.wavefront.flatMap((n, lane) =>
      n > 0 && n <= done && done < n + served.passes ? [lane] : []);
    const who = lanes.length === 1 ? `lane ${lanes[0]}` : `${lanes.length} lanes`;
    return `wavefront ${done} of ${served.wavefronts} serves ${who}`;
  }

  laneText(lane) {
    const { served, lanes } = this.request;
    const here = lanes[lane];
    if (!here) return `lane ${lane}: inactive`;
    const banks = served.span === 1
      ? `bank ${served.word[lane] % BANKS}`
      : `banks ${served.word[lane] % BANKS} to ${(served.word[lane] % BANKS) + served.span - 1}`;
    const last = here.touched.at(-1);
    const element = here.touched.length === 1
      ? `element [${here.row}, ${here.col}]`
      : `elements [${here.row}, ${here.col}] to [${last.row}, ${last.col}]`;
    const shared = served.group[lane] > 1 ? `, together with ${served.group[lane] - 1} more` : "";
    const outside = here.outside ? ", outside the tile" : "";
    return `lane ${lane}: ${element}${outside}, address ${here.address}, ${banks}, ` +
      `wavefront ${served.wavefront[lane]} of ${served.wavefronts}${shared}`;
  }

  bankText(bank) {
    const { served } = this.request;
    if (!served) return `bank ${bank}`;
    const lanes = this.lanesOf({ kind: "bank", number: bank });
    if (!lanes.length) return `bank ${bank}: no lane asks`;
    const who = lanes.length === 1 ? `lane ${lanes[0]}` : `${lanes.length} lanes`;
    return `bank ${bank}: ${who}, ${served.bankWays[bank]}-way`;
  }

  // --- the tile ------------------------------------------------------------------------------

  // Rows and columns that are shown: those around the first lane, where the tile is larger.
  window() {
    const { tile, request } = this;
    const first = request.lanes?.find((lane) => lane && !lane.outside) ?? { row: 0, col: 0 };
    const part = (size, at) => {
      const start = size <= MOST_SHOWN ? 0 : Math.floor(at / MOST_SHOWN) * MOST_SHOWN;
      return { start, end: Math.min(size, start + MOST_SHOWN) };
    };
    return { rows: part(tile.rows, first.row), cols: part(tile.cols, first.col) };
  }

  showTile() {
    const { tile, request } = this;
    const { rows, cols } = this.window();
    const pad = cols.end === tile.cols ? Math.min(tile.pad, 16) : 0;
    const shape = JSON.stringify([rows, cols, pad, tile.elems]);
    if (shape !== this.shape) this.fillTile(rows, cols, pad);
    this.shape = shape;
    const whole = rows.end - rows.start === tile.rows && cols.end - cols.start === tile.cols;
    const part = whole ? "" : `, shown are rows ${rows.start} to ${rows.end - 1}, columns ` +
      `${cols.start} to ${cols.end - 1}`;
    const extra = tile.pad ? ` + ${tile.pad} pad` : "";
    const what = tile.elems
      ? `array of ${counted(tile.elems, "element")} of ${counted(tile.itemsize, "byte")}, ` +
        `in rows of ${tile.cols}${extra}`
      : `tile of ${tile.rows} × ${tile.cols}${extra}, ${tile.itemsize}-byte elements`;
    this.caption.textContent = `${what}: the bank of each${part}`;
    const touched = new Map();
    (request.lanes ?? []).forEach((lane, number) => {
      for (const { row, col } of lane?.touched ?? []) {
        const key = `${row},${col}`;
        if (!touched.has(key)) touched.set(key, []);
        touched.get(key).push(number);
      }
    });
    this.touched = touched;
    const fits = !misfit(tile);
    const base = request.base ?? this.traced?.base ?? 0;
    for (const cell of this.cells.flat()) {
      const row = Number(cell.dataset.row);
      const col = Number(cell.dataset.col);
      const bank = fits ? bankOf(tile, base, row, col) : 0;
      const lanes = touched.get(`${row},${col}`) ?? [];
      const colour = CIVIDIS_32[bank];
      cell.style.setProperty("--bank", colour.css);
      cell.classList.toggle("smb-dark", colour.dark);
      cell.classList.toggle("smb-touched", lanes.length > 0);
      cell.dataset.bank = bank;
      const wavefront = lanes.length ? request.served.wavefront[lanes[0]] : 0;
      cell.dataset.wavefront = wavefront;
      if (cell.textContent !== String(bank)) cell.textContent = String(bank);
      const who = lanes.length
        ? `, ${lanes.length === 1 ? `lane ${lanes[0]}` : `${lanes.length} lanes`}, wavefront ${wavefront}`
        : "";
      cell.setAttribute("aria-label", `row ${row}, column ${col}, bank ${bank}${who}`);
    }
  }

  fillTile(rows, cols, pad) {
    const numbers = ({ start, end }) => Array.from({ length: end - start }, (_, i) => start + i);
    const head = make("div", { class: "smb-cells smb-heads", "aria-hidden": "true" },
      make("i", {}), ...numbers(cols).map(heading),
      ...Array.from({ length: pad }, () => make("i", {})));
    const there = (row) => numbers(cols).filter((col) => holds(this.tile, row, col));
    this.cells = numbers(rows).map((row) => there(row).map((col) =>
      make("div", {
        class: "smb-cell", role: "gridcell", tabindex: "-1", "data-row": row, "data-col": col,
      })));
    this.cells[0][0].tabIndex = 0;
    const lines = this.cells.map((cells, i) => make(
      "div", { class: "smb-cells", role: "row" },
      heading(rows.start + i),
      ...cells,
      ...Array.from({ length: cells.length === cols.end - cols.start ? pad : 0 }, () =>
        make("div", { class: "smb-cell smb-pad", "aria-hidden": "true" })),
    ));
    this.grid.replaceChildren(head, ...lines);
    this.across = cols.end - cols.start + pad;
  }

  litElement(cell) {
    return { kind: "element", row: Number(cell.dataset.row), col: Number(cell.dataset.col) };
  }

  walkTile(event) {
    const cell = event.target.closest("[data-row]");
    const steps = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -MOST_SHOWN], End: [0, MOST_SHOWN],
    };
    const step = steps[event.key];
    if (!cell || !step) return;
    event.preventDefault();
    const top = Number(this.cells[0][0].dataset.row);
    const left = Number(this.cells[0][0].dataset.col);
    const row = bounded(Number(cell.dataset.row) - top + step[0], this.cells.length);
    const col = bounded(Number(cell.dataset.col) - left + step[1], this.cells[row].length);
    cell.tabIndex = -1;
    this.cells[row][col].tabIndex = 0;
    this.cells[row][col].focus();
  }

  // --- light: a lane, its element and its bank ------------------------------------------------

  // Arrow keys within a row of pieces; hovering or focusing one lights it, a press keeps it lit.
  walk(list, meaning) {
    list[0].tabIndex = 0;
    list.forEach((piece, number) => {
      piece.addEventListener("pointerenter", () => this.pinned || this.light(meaning(number)));
      piece.addEventListener("pointerleave", () => this.unlight());
      piece.addEventListener("focus", () => {
        list.forEach((other) => (other.tabIndex = other === piece ? 0 : -1));
        this.light(meaning(number), true);
      });
      piece.addEventListener("blur", () => this.unlight(true));
      piece.addEventListener("click", () => this.pin(meaning(number)));
      piece.addEventListener("keydown", (event) => {
        const to = { ArrowLeft: number - 1, ArrowRight: number + 1, Home: 0, End: list.length - 1 };
        if (event.key === "Escape") this.unpin();
        if (!(event.key in to)) return;
        event.preventDefault();
        list[bounded(to[event.key], list.length)].focus();
      });
    });
  }

  pin(meaning) {
    const same = this.pinned && JSON.stringify(meaning) === JSON.stringify(this.lit);
    this.pinned = !same;
    this.lit = same ? null : meaning;
    this.showLit();
  }

  unpin() {
    this.pinned = false;
    this.showLit();
  }

  light(meaning, byFocus = false) {
    if (byFocus) {
      this.focused = meaning;
      if (this.pinned && JSON.stringify(meaning) !== JSON.stringify(this.lit)) this.pinned = false;
    }
    this.lit = meaning;
    this.showLit();
  }

  unlight(byFocus = false) {
    if (byFocus) this.focused = null;
    if (this.pinned) return;
    this.lit = this.focused ?? null;
    this.showLit();
  }

  // The lanes that a lit thing stands for.
  lanesOf(lit) {
    const { served } = this.request;
    if (!lit || !served) return [];
    if (lit.kind === "lane") return served.active[lit.number] ? [lit.number] : [];
    if (lit.kind === "element") return this.touched.get(`${lit.row},${lit.col}`) ?? [];
    return served.word.flatMap((word, lane) => {
      const first = word % BANKS;
      const here = first <= lit.number && lit.number < first + served.span;
      return served.active[lane] && here ? [lane] : [];
    });
  }

  showLit() {
    const { lit, request } = this;
    const lanes = new Set(this.lanesOf(lit));
    const banks = new Set();
    const elements = new Set();
    for (const lane of lanes) {
      const first = request.served.word[lane] % BANKS;
      for (let by = 0; by < request.served.span; by++) banks.add(first + by);
      for (const { row, col } of request.lanes[lane].touched) elements.add(`${row},${col}`);
    }
    if (lit?.kind === "lane") lanes.add(lit.number);
    if (lit?.kind === "bank") {
      banks.clear();
      banks.add(lit.number);
    }
    if (lit?.kind === "element") {
      elements.add(`${lit.row},${lit.col}`);
      const cell = this.cellAt(lit);
      if (cell && !banks.size) banks.add(Number(cell.dataset.bank));
    }
    const mark = (piece, on) => piece.classList.toggle("smb-lit", on);
    this.lanes.forEach((piece, lane) => {
      mark(piece, lanes.has(lane));
      piece.setAttribute("aria-pressed", String(this.pinned && lit?.kind === "lane" && lit.number === lane));
    });
    this.banks.forEach((piece, bank) => {
      mark(piece, banks.has(bank));
      piece.setAttribute("aria-pressed", String(this.pinned && lit?.kind === "bank" && lit.number === bank));
    });
    this.tokens.forEach((token, lane) => mark(token, lanes.has(lane)));
    for (const cell of this.cells.flat()) {
      mark(cell, elements.has(`${cell.dataset.row},${cell.dataset.col}`));
    }
    this.wayLanes = lit ? [...lanes].filter((lane) => request.served?.active[lane]) : [];
    this.drawWays();
    this.info.textContent = this.litText();
  }

  cellAt({ row, col }) {
    return this.cells.flat().find(
      (cell) => Number(cell.dataset.row) === row && Number(cell.dataset.col) === col);
  }

  litText() {
    const { lit, request } = this;
    if (request.problem) return "";
    if (!lit) return "Point at a lane, a bank or an element, or walk there with Tab and arrow keys.";
    if (lit.kind === "lane") return this.laneText(lit.number);
    if (lit.kind === "bank") return this.bankText(lit.number);
    return this.cellAt(lit)?.getAttribute("aria-label") ?? "";
  }

  // Lines from lit lanes to their place in the queues.
  drawWays() {
    const { way, cell, rise, height } = this;
    if (!cell) return;
    way.replaceChildren();
    const { served } = this.request;
    if (!served || this.turn === 0) return;
    const done = this.turn - 1;
    for (const lane of this.wayLanes ?? []) {
      const line = document.createElementNS(SVG, "line");
      const first = served.word[lane] % BANKS;
      const up = Math.max(0, served.wavefront[lane] - done);
      const ends = [(lane + 0.5) * cell, 0, (first + served.span / 2) * cell, height - up * rise];
      ["x1", "y1", "x2", "y2"].forEach((name, i) => line.setAttribute(name, ends[i]));
      way.append(line);
    }
  }

  // --- sizes ---------------------------------------------------------------------------------

  resize() {
    const width = this.root.clientWidth;
    if (!width || !this.across) return;
    const beside = width >= 940;
    const room = beside ? Math.floor(width * 0.52) : width;
    const cell = Math.max(8, Math.min(20, Math.floor((room - LABEL - 2) / LANES)));
    const wavefronts = Math.max(1, this.request.served?.wavefronts ?? 1);
    this.cell = cell;
    this.height = beside ? 430 : 372; // one above the other they are to fit on a screen
    this.rise = Math.max(5, Math.min(20, Math.floor((this.height - 46) / wavefronts)));
    const left = beside ? width - (LABEL + LANES * cell) - 28 : width;
    const most = beside ? 20 : 14;
    const small = Math.max(6, Math.min(most, Math.floor((left - 30) / this.across)));
    const { style, classList } = this.root;
    style.setProperty("--cell", `${cell}px`);
    style.setProperty("--rise", `${this.rise}px`);
    style.setProperty("--height", `${this.height}px`);
    style.setProperty("--small", `${small}px`);
    classList.toggle("smb-beside", beside);
    classList.toggle("smb-tiny", small < 13);
    classList.toggle("smb-low", this.rise < 10);
    this.way.setAttribute("viewBox", `0 0 ${LANES * cell} ${this.height}`);
    this.drawWays();
  }

  // --- playing -------------------------------------------------------------------------------

  show(turn) {
    this.stop();
    this.turn = bounded(turn, (this.request.served?.wavefronts ?? 0) + 2);
    this.showTurn();
  }

  start() {
    const { served } = this.request;
    if (!served) return;
    if (this.turn > served.wavefronts || this.turn <= 1) this.turn = 0;
    const each = Math.max(140, Math.min(700, 6000 / served.wavefronts));
    const on = () => {
      this.turn += 1;
      const over = this.turn > served.wavefronts;
      if (over) this.stop();
      else this.timer = window.setTimeout(on, this.turn === 1 ? 1300 : each);
      this.showTurn();
    };
    this.timer = window.setTimeout(on, this.calm.matches ? 400 : 700);
    this.namePlay("Pause");
    this.showTurn();
  }

  stop() {
    window.clearTimeout(this.timer);
    this.timer = 0;
    if (this.play) this.namePlay("Play");
    this.root.classList.remove("smb-flying");
  }

  namePlay(word) {
    this.play.textContent = word;
    this.play.setAttribute("aria-label", word);
  }
}

// A range with its name and its value.
class Slider {
  constructor(name, low, high, get, set) {
    this.get = get;
    this.input = make("input", { type: "range", min: low, max: high, step: 1 });
    this.input.dataset.name = name;
    this.value = make("b", {}); // an <output> would take the label for itself
    this.box = make("label", { class: "smb-field" },
      make("span", {}, `${name} `, this.value), this.input);
    this.input.addEventListener("input", () => set(Number(this.input.value)));
  }

  show() {
    const value = this.get();
    if (value > Number(this.input.max)) this.input.max = String(value);
    this.input.value = String(value);
    this.value.textContent = String(value);
  }
}

// A list to choose from; what does not fit can not be chosen, and says why.
class Choice {
  constructor(name, options, get, set, fits) {
    this.get = get;
    this.fits = fits;
    this.options = options.map(([value, said]) => option(value, said));
    this.input = make("select", {}, ...this.options);
    this.input.dataset.name = name;
    this.box = make("label", { class: "smb-field" }, make("span", {}, name), this.input);
    this.input.addEventListener("change", () => set(this.input.value));
  }

  show() {
    const value = String(this.get());
    this.input.value = value;
    for (const one of this.options) {
      const why = this.fits(one.value);
      one.disabled = Boolean(why) && one.value !== value;
      one.title = why;
    }
  }
}

function buildLegend() {
  const key = (name, said) =>
    make("span", {}, make("i", { class: `smb-key smb-key-${name}` }), said);
  return make("p", { class: "smb-legend" },
    key("free", "first at its bank"), key("extra", "waits: an extra wavefront"),
    key("touched", "element that a lane asks for"), key("pad", "pad"));
}

const CIVIDIS_32 = Array.from({ length: BANKS }, (_, bank) => {
  const place = (7 * bank) / (BANKS - 1);
  const low = Math.min(6, Math.floor(place));
  const [red, green, blue] = CIVIDIS[low].map((from, i) =>
    Math.round(from + (CIVIDIS[low + 1][i] - from) * (place - low)));
  const light = [red, green, blue].map((one) => (one / 255) ** 2.2);
  const dark = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] <= 0.18;
  return { css: `rgb(${red} ${green} ${blue})`, dark };
});

// JupyterLab takes arrow keys and letters for itself, but from an element with this attribute.
const OWN_KEYS = "data-lm-suppress-shortcuts";

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  if (["input", "select", "button"].includes(tag) || "tabindex" in attributes) {
    element.setAttribute(OWN_KEYS, "true");
  }
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function option(value, said) {
  return make("option", { value }, said);
}

function button(said, text, press) {
  const element = make("button", { type: "button", "aria-label": said, class: "smb-button" }, text);
  element.addEventListener("click", press);
  return element;
}

// The number of a row or column of the tile; where elements are tiny, every eighth is shown.
function heading(number) {
  const name = number % 8 ? "" : "smb-eighth";
  return make("i", { "aria-hidden": "true", class: name }, String(number));
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function bounded(number, count) {
  return Math.min(count - 1, Math.max(0, number));
}

function counted(number, noun) {
  return number === 1 ? `1 ${noun}` : `${number.toLocaleString("en")} ${noun}s`;
}
