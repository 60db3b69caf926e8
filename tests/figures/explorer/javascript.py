"""The explorer's JavaScript, asked from Python: by node as a quick test, and in a page.

`ASK` defines the functions that the tests call, with plain data in and JSON text out. Requests go
over as base64: 32 addresses of 8 bytes (float64, as JavaScript's numbers are) and 32 bytes of mask.
"""

import base64
import json
import shutil
import subprocess

import numpy as np
import pytest

from smemnb.figures.explorer import module_text
from smemnb.measure.recorded import KIND_OF, RETRY_LOOPS, one_warp_requests
from smemnb.rules import bank

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node")

ASK = """
function bytesOf(text) {
  return Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
}
globalThis.ask = {
  counts({ address, active, width, kind }) {
    const at = new Float64Array(bytesOf(address).buffer);
    const on = bytesOf(active);
    const found = [];
    for (let i = 0; i < width.length; i++) {
      const lanes = Array.from(at.subarray(32 * i, 32 * i + 32));
      const mask = Array.from(on.subarray(32 * i, 32 * i + 32), Boolean);
      const one = serve(lanes, { width: width[i], active: mask, kind: KINDS[kind[i]] });
      found.push([one.wavefronts, one.ideal, one.ways, one.multicast, Math.max(...one.wavefront)]);
    }
    return found;
  },
  values({ texts, names }) {
    return texts.map((text) => {
      try {
        return parse(text, Object.keys(names)).map((tree) => String(valueOf(tree, names)));
      } catch (error) {
        if (error instanceof ExpressionError) return error.message;
        throw error;
      }
    });
  },
  offsets({ tiles }) {
    const up_to = (end) => Array.from({ length: end }, (_, number) => number);
    return tiles.map((tile) => up_to(tile.rows).map((row) =>
      up_to(tile.cols).map((col) => offset(tile, row, col))));
  },
  misfits({ tiles }) {
    return tiles.map((tile) => misfit(tile));
  },
  lines({ lines }) {
    return lines.map((line) => line.requests.map((one) => {
      const { problem, served, lanes } = tracedRequest(line.tile, line, one);
      return [problem, served.wavefronts, lanes.map((lane) => lane && lane.address)];
    }));
  },
  bytes({ tiles }) {
    return tiles.map((tile) => tileBytes(tile));
  },
  typed({ requests }) {
    return requests.map(({ tile, access }) => {
      const { problem, served } = typedRequest(tile, access);
      return problem || summary(served);
    });
  },
};
"""


def in_node(name, data):
    """The answer of one function of `ASK`."""
    call = f"""
import {{ readFileSync }} from "node:fs";
const data = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(ask.{name}(data)));
"""
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", module_text() + ASK + call],
        input=json.dumps(data),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_page(page, name, data):
    """The same in a page of Chromium, which has to hold the module once."""
    return json.loads(
        page.evaluate(
            "([name, data]) => JSON.stringify(ask[name](JSON.parse(data)))",
            [name, json.dumps(data)],
        )
    )


def load(page):
    """Put the module into a page."""
    page.add_script_tag(type="module", content=module_text() + ASK)
    page.wait_for_function("globalThis.ask !== undefined")


def random_requests(count, seed):
    """Seeded requests, of all widths, kinds and masks: address, active, width, kind.

    Many lanes meet: addresses are few places times a stride, lanes in pairs share theirs, and some
    requests lie far beyond 32 bits.
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice(len(bank.KINDS), count, p=[0.36, 0.36, 0.07, 0.07, 0.06, 0.04, 0.04])
    width = np.where(kind < 2, rng.choice(bank.WIDTHS, count), np.where(kind < 5, 4, 16))
    places = rng.choice([1, 2, 5, 33, 200, 5000], count)
    step = rng.choice([1, 2, 3, 8, 16, 32, 33], count)
    place = rng.integers(0, places[:, None], (count, 32)) * step[:, None]
    regular = rng.random(count) < 0.3
    place[regular] = np.arange(32) * step[regular, None]
    lane = np.arange(32)
    for x in (1, 2, 3):
        some = rng.random(count) < 0.15
        place[some] = place[some][:, lane & ~x]
    far = np.where(rng.random(count) < 0.1, 2**40, 0)
    address = (place + far[:, None]) * width[:, None]
    share = rng.choice([1.1, 0.9, 0.5, 0.1, 0.0], count, p=[0.4, 0.2, 0.2, 0.15, 0.05])
    active = rng.random((count, 32)) < share[:, None]
    return address, active, width, kind


def expected(address, active, width, kind):
    """What `rules.bank` counts: wavefronts, ideal, ways, multicast of each request."""
    out = np.empty((len(address), 4), np.int64)
    for number, name in enumerate(bank.KINDS):
        for size in bank.WIDTHS:
            here = (kind == number) & (width == size)
            if here.any():
                got = bank.measure(address[here], width=size, active=active[here], kind=name)
                out[here] = np.transpose(got)
    return out.tolist()


def packed(address, active, width, kind):
    """Requests as data for `counts`."""
    return {
        "address": base64.b64encode(np.asarray(address, np.float64).tobytes()).decode(),
        "active": base64.b64encode(np.asarray(active, np.uint8).tobytes()).decode(),
        "width": [int(one) for one in width],
        "kind": [int(one) for one in kind],
    }


def hardware_requests():
    """The recorded requests of an H200 with its counters: requests as above, and wavefronts."""
    found = [one for one in one_warp_requests() if one.kind not in RETRY_LOOPS]
    address = np.array([one.address for one in found])
    active = np.array([one.active for one in found])
    width = np.array([one.width for one in found])
    kind = np.array([bank.KINDS.index(KIND_OF[one.kind]) for one in found])
    return (address, active, width, kind), [one.wavefronts_hardware for one in found]
