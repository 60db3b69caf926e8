// The bank rule of a shared-memory request: who is served in which wavefront.
//
// Shared memory is 32 banks of 4-byte words: bank = (address // 4) % 32. A request is served in
// phases, and a phase takes as many wavefronts as its busiest bank has distinct words.
// `smemnb/rules/bank.py` states the rule and its source; a test holds that this file counts the
// same on 100,000 random requests and on every hardware reading. The order within a phase is that
// of `smemnb/figures/service.py`: a word comes at the turn of the first lane that asks for it.

export const BANKS = 32;
export const LANES = 32;
export const WORD_BYTES = 4;
export const WIDTHS = [1, 2, 4, 8, 16];
export const KINDS = [
  "load", "store", "atomic_add", "atomic_increment", "atomic_cas", "ldmatrix", "stmatrix",
];

// One request, served. `address` holds 32 byte addresses, multiples of `width`; `active` 32 bools.
// Of each lane: `wavefront` counts from 1 (0: inactive), `rank` is its place in the queue of its
// bank (0: first), `word` its first word, `group` the number of lanes that share its word.
// `phases` are lists of lanes, `bankWays` the n-way of each bank, `span` the banks of one lane.
export function serve(address, { width = 4, active = null, kind = "load" } = {}) {
  const on = Array.from({ length: LANES }, (_, lane) => (active ? Boolean(active[lane]) : true));
  const unitBytes = Math.max(width, WORD_BYTES);
  const span = unitBytes / WORD_BYTES;
  const unit = address.map((at, lane) => (on[lane] ? Math.floor(at / unitBytes) : 0));
  const word = address.map((at, lane) => (on[lane] ? Math.floor(at / WORD_BYTES) : 0));
  const atomic = kind.startsWith("atomic");
  const merges = !atomic || kind === "atomic_increment";
  const passes = kind === "atomic_cas" ? 2 : 1;
  // lanes of an atomic that do not merge are counted on 32 columns, whatever their width
  const columns = merges ? BANKS / span : BANKS;
  const phases = phasesOf(unit, on, width, kind);
  const wavefront = new Array(LANES).fill(0);
  const rank = new Array(LANES).fill(0);
  const group = new Array(LANES).fill(0);
  const bankWays = new Array(BANKS).fill(0);
  let wavefronts = 0;
  let ways = 0;
  for (const phase of phases) {
    const queues = new Map();
    for (const lane of phase) {
      const column = unit[lane] % columns;
      const turn = merges ? unit[lane] : lane;
      if (!queues.has(column)) queues.set(column, new Map());
      const queue = queues.get(column);
      if (!queue.has(turn)) queue.set(turn, []);
      queue.get(turn).push(lane);
    }
    let longest = 0;
    for (const [column, queue] of queues) {
      [...queue.values()].forEach((lanes, place) => {
        for (const lane of lanes) {
          wavefront[lane] = wavefronts + passes * place + 1;
          rank[lane] = place;
          group[lane] = lanes.length;
        }
      });
      const taken = passes * queue.size;
      for (let bank = column * span; bank < (column + 1) * span; bank++) {
        bankWays[bank % BANKS] = Math.max(bankWays[bank % BANKS], taken);
      }
      longest = Math.max(longest, taken);
    }
    wavefronts += longest;
    ways = Math.max(ways, longest);
  }
  const lanes = on.filter(Boolean).length;
  const distinct = new Set(unit.filter((_, lane) => on[lane])).size;
  const multicast = distinct < lanes ? 1 : 0;
  const ideal = phases.length;
  const extra = wavefronts - ideal;
  return {
    width, kind, active: on, span, lanes, phases, word, wavefront, rank, group, bankWays,
    wavefronts, ideal, extra, ways, multicast, passes,
  };
}

// Active lanes of each phase; phases without one are left out.
function phasesOf(unit, on, width, kind) {
  let size = LANES;
  if (!kind.startsWith("atomic") && width > WORD_BYTES) {
    size = width === 8 ? 16 : 8;
    // matrices have a phase each, however their rows repeat
    if (kind === "load" && (pairUp(unit, on, 1) || pairUp(unit, on, 2))) size *= 2;
  }
  const phases = [];
  for (let first = 0; first < LANES; first += size) {
    const lanes = [];
    for (let lane = first; lane < first + size; lane++) if (on[lane]) lanes.push(lane);
    if (lanes.length) phases.push(lanes);
  }
  return phases;
}

// Whether each active lane's partner (lane ^ x) is inactive or asks for the same.
function pairUp(unit, on, x) {
  return on.every((here, lane) => !here || !on[lane ^ x] || unit[lane ^ x] === unit[lane]);
}
