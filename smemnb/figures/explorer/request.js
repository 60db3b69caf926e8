// The request that the controls ask for: 32 lanes, each with its element of the tile and its
// address, or a problem in words. Nothing here knows of the page.

import { serve, LANES } from "./bank_rule.js";
import { namesIn, parse, valueOf } from "./expression.js";
import { misfit, offset, pitch } from "./layout.js";

// What an index may be made of, and what each name holds for a lane.
export const NAMES = ["lane", "tx", "ty", "row", "col", "stride"];
const FARTHEST = 2 ** 20; // elements, so that 32-bit operators are exact

export function named(lane, { ty, stride }) {
  return { lane, tx: lane, ty, row: ty, col: lane, stride };
}

// A request of the learner's own: `access` is {kind, index, stride, vector, ty, lanes}.
// Returns {problem} or a request; `at` is the place of the problem in the index.
export function typedRequest(tile, access) {
  const { index, kind, vector, lanes } = access;
  let trees;
  try {
    trees = parse(index, NAMES);
  } catch (error) {
    return { problem: error.message, at: error.at ?? 0, typed: true };
  }
  const elements = [];
  for (let lane = 0; lane < LANES; lane++) {
    if (lane >= lanes) {
      elements.push(null);
      continue;
    }
    let values;
    try {
      values = trees.map((tree) => valueOf(tree, named(lane, access)));
    } catch (error) {
      return { problem: `lane ${lane}: ${error.message}`, at: error.at ?? 0, typed: true };
    }
    const wrong = values.find((value) => value < 0n || value >= BigInt(FARTHEST));
    if (wrong !== undefined) {
      const why = wrong < 0n ? "is less than 0" : "lies far outside the tile";
      return { problem: `lane ${lane}: the index ${wrong} ${why}`, at: 0, typed: true };
    }
    elements.push(elementAt(tile, values.map(Number)));
  }
  return placed(tile, elements, { width: vector * tile.itemsize, kind, base: 0 });
}

// The names that an index uses; none if it cannot be read.
export function usedNames(index) {
  try {
    return namesIn(parse(index, NAMES));
  } catch {
    return new Set();
  }
}

// A recorded request of a line, its elements kept where `tile` puts them: with no pad and no
// swizzle at the recorded addresses.
export function tracedRequest(tile, line, request) {
  const elements = request.address.map((address, lane) => {
    if (request.active && !request.active[lane]) return null; // null: all of them
    const bytes = address - line.base;
    const number = Math.floor(bytes / tile.itemsize);
    const element = elementAt(tile, [number]);
    return { ...element, rest: bytes - number * tile.itemsize };
  });
  return placed(tile, elements, line);
}

function elementAt(tile, subscripts) {
  const [row, col] =
    subscripts.length === 2
      ? subscripts
      : [Math.floor(subscripts[0] / tile.cols), subscripts[0] % tile.cols];
  return { row, col, rest: 0, flat: subscripts.length === 1 };
}

// The element that lies `by` places behind another.
function neighbour(tile, { row, col, flat }, by) {
  if (!flat || col + by < tile.cols) return { row, col: col + by };
  return { row: row + Math.floor((col + by) / tile.cols), col: (col + by) % tile.cols };
}

function placed(tile, elements, { width, kind, base }) {
  const unfit = misfit(tile);
  if (unfit) return { problem: unfit };
  const span = Math.max(1, Math.floor(width / tile.itemsize));
  const lanes = [];
  for (let lane = 0; lane < LANES; lane++) {
    const element = elements[lane];
    if (!element) {
      lanes.push(null);
      continue;
    }
    const first = offset(tile, element.row, element.col);
    const touched = [];
    for (let by = 0; by < span; by++) {
      const one = neighbour(tile, element, by);
      touched.push(one);
      if (offset(tile, one.row, one.col) !== first + by) {
        const what = `the ${span} elements of lane ${lane}`;
        return { problem: `${what} do not lie side by side in this layout` };
      }
    }
    const address = base + first * tile.itemsize + element.rest;
    if (address % width) {
      const what = `lane ${lane} asks for ${width} bytes at address ${address}`;
      return { problem: `misaligned address: ${what}, no multiple of ${width}` };
    }
    const outside = touched.some(({ row, col }) => !holds(tile, row, col));
    lanes.push({ ...element, offset: first, address, touched, outside });
  }
  const active = lanes.map((lane) => lane !== null);
  const address = lanes.map((lane) => (lane ? lane.address : 0));
  const served = serve(address, { width, active, kind });
  return { problem: "", width, kind, base, lanes, served };
}

// The bank of the first byte of an element.
export function bankOf(tile, base, row, col) {
  return Math.floor((base + offset(tile, row, col) * tile.itemsize) / 4) % 32;
}

// Whether a tile has the element: the last row of an array of one dimension may not be whole.
export function holds(tile, row, col) {
  return row < tile.rows && col < tile.cols && row * tile.cols + col < elementsOf(tile);
}

// Bytes with all pads; those of an array whose last row is not whole end with its last element.
export function tileBytes(tile) {
  const elems = elementsOf(tile);
  if (elems === tile.rows * tile.cols) return tile.rows * pitch(tile) * tile.itemsize;
  let end = 0;
  for (let number = 0; number < elems; number++) {
    end = Math.max(end, offset(tile, Math.floor(number / tile.cols), number % tile.cols) + 1);
  }
  return end * tile.itemsize;
}

function elementsOf(tile) {
  return tile.elems ?? tile.rows * tile.cols;
}

// "32-way: 32 wavefronts, 31 extra"
export function summary({ wavefronts, extra, ways }) {
  const noun = wavefronts === 1 ? "wavefront" : "wavefronts";
  return `${ways}-way: ${wavefronts} ${noun}, ${extra} extra`;
}
