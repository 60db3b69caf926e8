// Where a tile keeps its element (row, col), in elements from its start: the layouts of
// `smemnb/rules/layout`, and pad together with any of them. A test holds both to each other.
//
// A tile is {rows, cols, itemsize, pad, swizzle, bits, base, shift}, and of an array of one dimension
// elems, how many of its rows * cols elements there are.

const ROW_BANKS = 32;
const CHUNK_BYTES = 16;
const ROW_CHUNKS = 8; // 128 bytes, all banks once

export const SWIZZLES = {
  none: "none",
  xor: "col ^ row",
  xor_chunks: "16-byte chunk ^ row",
  rotated: "(col + row) % 32",
  bits: "offset ^ higher bits",
};

// Elements from one row to the next.
export function pitch(tile) {
  return tile.cols + tile.pad;
}

export function offset(tile, row, col) {
  const plain = row * pitch(tile);
  switch (tile.swizzle) {
    case "xor":
      return plain + (col ^ turn(row, Math.min(tile.cols, ROW_BANKS), ROW_BANKS));
    case "xor_chunks": {
      const perChunk = CHUNK_BYTES / tile.itemsize;
      const chunks = Math.min(tile.cols / perChunk, ROW_CHUNKS);
      return plain + (col ^ (turn(row, chunks, ROW_CHUNKS) * perChunk));
    }
    case "rotated": {
      const group = Math.min(tile.cols, ROW_BANKS);
      const by = Math.floor(row / Math.floor(ROW_BANKS / group));
      return plain + col - (col % group) + ((col + by) % group);
    }
    case "bits": {
      const mask = ((1 << tile.bits) - 1) << tile.base;
      return (plain + col) ^ (((plain + col) >> tile.shift) & mask);
    }
    default:
      return plain + col;
  }
}

// Why this swizzle would not be one-to-one on this tile; "" if it is.
export function misfit(tile, swizzle = tile.swizzle) {
  const { rows, cols, itemsize, bits, base, shift } = tile;
  if (swizzle === "xor" && !grouped(cols, ROW_BANKS)) {
    return `${cols} columns: an xor stays in the row only for a power of two or a multiple of 32`;
  }
  if (swizzle === "xor_chunks") {
    const bytes = cols * itemsize;
    if (bytes % CHUNK_BYTES || CHUNK_BYTES % itemsize) return `rows of ${bytes} bytes are not 16-byte chunks`;
    if (!grouped(bytes / CHUNK_BYTES, ROW_CHUNKS)) {
      return `${bytes / CHUNK_BYTES} chunks: not a power of two or a multiple of 8`;
    }
  }
  if (swizzle === "rotated" && cols > ROW_BANKS && cols % ROW_BANKS) {
    return `${cols} columns are not whole groups of 32`;
  }
  if (swizzle === "bits") {
    if (shift < bits) return `shift ${shift} is less than bits ${bits}: not one-to-one`;
    const size = 2 ** (base + bits);
    const elems = rows * pitch(tile);
    if (elems % size) return `${elems} elements are not whole groups of ${size}`;
  }
  return "";
}

function grouped(count, all) {
  return count % all === 0 || (count & (count - 1)) === 0;
}

// What a row xors its columns with: rows that share one pass over the banks share it.
function turn(row, group, all) {
  return Math.floor(row / (all / group)) % group;
}
