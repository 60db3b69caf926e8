"""Control bits: stored encodings, made-up ones, and those of compiled kernels.

`stored_encodings.json` holds the instructions of `transpose_padded` for each compute capability,
their bytes beside what nvdisasm says of them; `python -m tests.compiled.test_control_bits` stores
them.
"""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from smemnb.compiled import cubin
from smemnb.compiled.control_bits import READ, Control, control, controls
from smemnb.compiled.listing import listing
from smemnb.compiled.usage import sections
from smemnb.errors import SmemnbError
from smemnb.kernels.matmul.ladder import LADDER as PRODUCTS
from smemnb.kernels.transpose.ladder import LADDER as TRANSPOSES
from tests.compiled.programs import needs_machine_code

STORED = Path(__file__).with_name("stored_encodings.json")
CCS = sorted(READ)
MATRIX = "float32[:, ::1]"
KERNELS = {rung.name: rung for rung in (*PRODUCTS, *TRANSPOSES)}
VARIABLE = ("LDG", "LDS", "S2R", "MUFU", "S2UR")
RESULT = re.compile(r"^(U?R\d+)")


def encoded(cc, name):
    """Bytes and text of the instructions of a rung."""
    rung = KERNELS[name]
    arrays = [MATRIX] * (3 if rung in PRODUCTS else 2)
    signature = f"void({', '.join([*arrays, *(['float32'] * 2 if rung.scaled else [])])})"
    elf = cubin(rung.kernel, signature, cc)
    code = next(data for section, data in sections(elf) if section.startswith(".text."))
    return elf, [[code[one.address :][:16].hex(), one.text] for one in listing(elf)]


def stored(cc):
    pairs = json.loads(STORED.read_text())[f"{cc[0]}.{cc[1]}"]
    return [(control(bytes.fromhex(octets)), text) for octets, text in pairs]


def without_wait(code):
    """Readers of a result of variable time that do not wait for its scoreboard, up to a jump.

    Loads of one kind come back in order, so one without a scoreboard is there when the next one of
    its kind that has one is.
    """
    found, awaited, unnamed = [], {}, {}
    for bits, text in code:
        words = text.partition(" ")[2] if text.startswith("@") else text
        name, _, operands = words.partition(" ")
        kind = name.split(".")[0]
        for number in bits.waits:
            awaited = {register: one for register, one in awaited.items() if one != number}
        result = RESULT.match(operands) if kind not in ("STS", "STG") else None
        sources = operands[len(result[1]) :] if result else operands
        for register in (*awaited, *(one for some in unnamed.values() for one in some)):
            if re.search(rf"(?<!\w){register}(?!\d)", sources):
                found.append(text)
        if kind in ("BRA", "EXIT", "RET"):
            awaited, unnamed = {}, {}
        if kind in VARIABLE and result:
            unnamed.setdefault(kind, []).append(result[1])
            if bits.writes is not None:
                awaited |= dict.fromkeys(unnamed.pop(kind), bits.writes)
    return found


@pytest.mark.parametrize(("first", "width", "name"), [
    (105, 4, "stall"), (109, 1, "yield_bit"), (110, 3, "writes"), (113, 3, "reads"),
    (116, 6, "waits"), (122, 4, "reuse"), (126, 2, "unknown"),
])  # fmt: skip
def test_a_field_has_its_bits_and_no_others(first, width, name):
    """Each value of a field comes back alone, whatever the bits below and above it."""
    empty = Control(0, False, None, None, (), ())
    for around in (0, (1 << 105) - 1):
        for value in range(1 << width):
            if name in ("writes", "reads") and value == 6:
                continue
            bits = around | 7 << 110 | 7 << 113
            bits = bits & ~(((1 << width) - 1) << first) | value << first
            found = control(bits.to_bytes(16, "little"))
            wanted = {
                "waits": tuple(n for n in range(6) if value >> n & 1),
                "reuse": tuple(n for n in range(4) if value >> n & 1),
                "yield_bit": value == 1,
                "writes": None if value == 7 else value,
                "reads": None if value == 7 else value,
            }.get(name, value)
            assert found == Control(**{**vars(empty), name: wanted})


@pytest.mark.parametrize("cc", CCS)
def test_stored_results_are_waited_for(cc):
    """Whoever reads what a load or a special register brings waits for its scoreboard."""
    code = stored(cc)
    asked = [bits for bits, text in code if re.search(rf"\b({'|'.join(VARIABLE)})\b", text)]
    assert len(asked) >= 6
    assert without_wait(code) == []


def test_a_lost_wait_is_seen():
    """The check above can fail: a reader whose wait mask is taken away."""
    code = stored((9, 0))
    at = next(n for n, (bits, _) in enumerate(code) if bits.waits)
    code[at] = (Control(**{**vars(code[at][0]), "waits": ()}), code[at][1])
    assert code[at][1] in without_wait(code)


@pytest.mark.parametrize("cc", CCS)
def test_stored_reuse_is_what_the_listing_says(cc):
    """Operands that nvdisasm calls `.reuse` are as many as reuse bits."""
    assert [(text.count(".reuse")) for _, text in stored(cc)] == [
        len(bits.reuse) for bits, _ in stored(cc)
    ]
    assert [bits.unknown for bits, _ in stored(cc)] == [0] * len(stored(cc))


def test_fixed_times():
    """On cc 9.0 a sum that the next instruction needs stalls for 4 cycles or more."""
    found = [
        first.stall
        for (first, one), (_, two) in pairwise(stored((9, 0)))
        if re.match(r"IMAD(\.IADD)? R\d+,", one)
        and re.search(rf"\b{one.split()[1][:-1]}\b", two.partition(",")[2])
    ]
    assert found and min(found) >= 4


@pytest.mark.parametrize(("octets", "said"), [
    (b"\0" * 8, "16 bytes"),
    ((6 << 110).to_bytes(16, "little"), "writes scoreboard 6"),
    ((7 << 110 | 6 << 113).to_bytes(16, "little"), "reads scoreboard 6"),
])  # fmt: skip
def test_what_is_refused(octets, said):
    with pytest.raises(SmemnbError, match=said):
        control(octets)


@pytest.mark.parametrize("cc", [(7, 5), (10, 0)])
def test_other_capabilities_are_refused(cc):
    with pytest.raises(SmemnbError, match=f"not for {cc[0]}.{cc[1]}"):
        controls(b"", cc)


@needs_machine_code
@pytest.mark.parametrize(
    ("cc", "name"), [*((cc, "matmul_tiled") for cc in CCS), ((9, 0), "transpose_fastest")]
)
def test_compiled_rungs(cc, name):
    """Of whole kernels: reuse as nvdisasm says, and no reader that does not wait."""
    elf, code = encoded(cc, name)
    found = controls(elf, cc)
    assert list(found) == [16 * n for n in range(len(code))]
    pairs = [(bits, text) for bits, (_, text) in zip(found.values(), code, strict=True)]
    assert [text for bits, text in pairs if text.count(".reuse") != len(bits.reuse)] == []
    assert without_wait(pairs) == []
    assert sum(bool(bits.reuse) for bits, _ in pairs) >= 1


if __name__ == "__main__":
    whole = {f"{cc[0]}.{cc[1]}": encoded(cc, "transpose_padded")[1][:72] for cc in CCS}
    STORED.write_text(
        "{\n"
        + ",\n".join(
            f' "{cc}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
            for cc, rows in whole.items()
        )
        + "\n}\n"
    )
