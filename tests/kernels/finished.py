"""Every finished kernel, launched on small shapes with all checks: what is waived, and why.

    python -m tests.kernels.finished        the list of waivers

A rung that shows a fault keeps the finding in its trace, as the chapters let the trace name it; why
it may stay is said here. All other waivers stand in the source, at the access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import Any

import numpy as np

from smemnb.kernels.further import FURTHER
from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.matmul.choosing import CUTS
from smemnb.kernels.matmul.cut import Cut
from smemnb.kernels.matmul.staged import STAGED
from smemnb.kernels.matmul.unguarded import CUTS as UNGUARDED
from smemnb.kernels.matmul.variants.balanced import matmul_balanced_of, matmul_inside_of
from smemnb.kernels.matmul.variants.direct import matmul_direct_of, threads_of
from smemnb.kernels.matmul.variants.guarded import matmul_guarded_of
from smemnb.kernels.matmul.variants.vector_tiling import vector_plan
from smemnb.kernels.matmul.variants.vectors import vector_product_of
from smemnb.kernels.rung import Rung
from smemnb.kernels.transpose import ladder as transposes
from smemnb.tracing import Trace, trace

TAUGHT = {
    ("uncoalesced", "matmul_scattered"): "the rung that shows lanes on neighbouring rows",
    ("uncoalesced", "transpose_naive"): "the rung that shows stores along a column",
    ("uncoalesced", "transpose_gathered"): "the rung that shows loads along a column",
}
"""(kind, kernel) of the faults that a rung is there to show, and what it shows."""

ELEMENTS = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.uint64, 16: np.complex128}


@dataclass(frozen=True)
class Finished:
    """A kernel with its launch; `quick` where it belongs into the first tier of the tests."""

    name: str
    launch: Callable[[], Trace]
    quick: bool


@cache
def finished() -> list[Finished]:
    """All rungs of both ladders, the kernels of `further`, and what the operations choose."""
    return [*_transposes(), *_products(), *_vectors(), *_guarded(), *_unguarded(), *_direct()]


def _transposes() -> Iterator[Finished]:
    for rung in transposes.LADDER:
        yield _transposed(rung.name, rung, 128, 192, np.float32)
    yield _transposed(transposes.COPY.name, transposes.COPY, 128, 192, np.float32, turned=False)
    for (operation, size), rungs in FURTHER.items():
        for rung in rungs if operation == "transpose" else ():
            yield _transposed(f"{rung.name}, {size} bytes", rung, 256, 250, ELEMENTS[size])
    for size, dtype in ELEMENTS.items():
        for rows, cols in ((128, 128), (97, 131)):
            name = f"transpose, {rows}x{cols} of {size} bytes"
            yield _transposed(name, None, rows, cols, dtype)


def _transposed(
    name: str, rung: Rung | None, rows: int, cols: int, dtype: Any, turned: bool = True
) -> Finished:
    @cache
    def launch() -> Trace:
        inp = np.random.default_rng(7).integers(0, 99, (rows, cols)).astype(dtype)
        out = np.zeros((cols, rows) if turned else (rows, cols), dtype)
        fits = rung or transposes.fastest(out, inp)
        moved = [one.view(np.uint64) for one in (out, inp)] if inp.itemsize == 16 else [out, inp]
        report = trace(fits.kernel)[fits.grid(rows, cols), fits.block](*moved)
        assert np.array_equal(out, inp.T if turned else inp)
        return report

    return Finished(name, launch, quick=rung in (*transposes.LADDER, transposes.COPY))


def _products() -> Iterator[Finished]:
    for rung in products.LADDER:
        rows = 64 if rung.tile[0] < 128 else 128
        yield _multiplied(rung.name, (2 * rows, 32, rows), rung=rung)
    for rung in FURTHER["matmul", 4]:
        yield _multiplied(rung.name, (64, 64, 64), rung=rung)
    yield _multiplied(STAGED[0].name, (131, 36, 132), rung=STAGED[0])
    # few multiprocessors, so that small results are large ones
    for shape in ((128, 32, 128), (131, 33, 129), (131, 33, 132), (130, 32, 129), (40, 7, 35)):
        for multiprocessors in (132, 1):
            yield _multiplied(f"matmul, {shape} on {multiprocessors}", shape, multiprocessors)
    for shape in ((384, 64, 128), (386, 67, 130)):
        yield _multiplied(f"matmul, {shape} shared out", shape, 1, beta=0.5)


def _multiplied(
    name: str,
    shape: tuple[int, int, int],
    multiprocessors: int = 132,
    beta: float = 0.5,
    rung: Rung | None = None,
) -> Finished:
    @cache
    def launch() -> Trace:
        (m, k, n), rng = shape, np.random.default_rng(8)
        a, b, out = (
            rng.integers(-9, 10, size).astype(np.float32) for size in ((m, k), (k, n), (m, n))
        )
        before = out.copy()
        fit = products.fastest(out, a, b, multiprocessors)
        if rung is not None:
            fit = products.Fit(rung.kernel, rung.grid(m, n), rung.block)
        scaled = rung is None or rung.scaled
        own = (np.zeros(fit.sums, np.float32), np.zeros(fit.flags, np.uint32)) if fit.sums else ()
        factors = (1.0, beta) if scaled else ()
        report = trace(fit.kernel)[fit.grid, fit.block](out, a, b, *factors, *own)
        assert np.array_equal(out, a @ b + (beta * before if scaled else 0))
        return report

    small = rung is not None and rung.tile[0] < 128
    return Finished(name, launch, quick=small or name in ("matmul_wide", "matmul_fastest"))


def _vectors() -> Iterator[Finished]:
    for along in ("columns", "depth"):
        for wide in (True, False):
            for count, length, turned in ((1, 300, False), (4, 64, True)):
                yield _by_vectors(along, wide, count, length, turned)


def _by_vectors(along: str, wide: bool, count: int, length: int, turned: bool) -> Finished:
    depth = 512

    @cache
    def launch() -> Trace:
        rng, plan = np.random.default_rng(9), vector_plan(count, length, depth, along, wide)
        vectors, matrix, out = (
            rng.integers(-9, 10, size).astype(np.float32)
            for size in ((count, depth), (depth, length), (count, length))
        )
        expected = vectors @ matrix + 0.5 * out
        large = matrix if along == "columns" else np.ascontiguousarray(matrix.T)
        own = np.zeros(plan.sums, np.float32), np.zeros(plan.flags, np.uint32)
        kernel = vector_product_of(plan.tiling, out_turned=turned)
        stored = np.ascontiguousarray(out.T) if turned else out
        report = trace(kernel)[plan.grid, plan.block](stored, vectors, large, 1.0, 0.5, *own)
        assert np.array_equal(stored.T if turned else stored, expected)
        return report

    how = "16" if wide else "4"
    name = f"{count} x {length} by vectors, neighbours along the {along}, by {how} bytes"
    return Finished(name, launch, quick=False)


def _guarded() -> Iterator[Finished]:
    for at, cut in enumerate(CUTS):
        for wide in (True, False):
            columns = bool(at % 2), bool(at // 2 % 2)
            yield _of_any_shape(cut, columns, wide)


def _of_any_shape(cut: Cut, columns: tuple[bool, bool], wide: bool) -> Finished:
    more = 4 if wide else 1
    rows, cols, depth = cut.rows + more, cut.cols + more, 2 * cut.depth * cut.slices + more

    @cache
    def launch() -> Trace:
        rng = np.random.default_rng(10)
        a, b, out = (
            rng.integers(-9, 10, size).astype(np.float32)
            for size in ((rows, depth), (depth, cols), (rows, cols))
        )
        expected, tiles = a @ b + 0.5 * out, 4
        stored = [
            np.ascontiguousarray(one.T) if turned else one
            for one, turned in zip((a, b), columns, strict=True)
        ]
        own = np.zeros(2 * tiles * cut.rows * cut.cols, np.float32), np.zeros(tiles, np.uint32)
        kernel = matmul_guarded_of(cut, *columns, wide, wide, wide)
        report = trace(kernel)[(tiles, 2), cut.threads](out, *stored, 1.0, 0.5, *own)
        assert np.array_equal(out, expected)
        return report

    how = "16" if wide else "4"
    name = f"{cut.rows}x{cut.cols} in {cut.slices} slices, by columns {columns}, by {how} bytes"
    return Finished(name, launch, quick=False)


def _unguarded() -> Iterator[Finished]:
    for at, cut in enumerate(UNGUARDED):
        columns = bool(at % 2), bool(at // 2 % 2)
        yield _inside_the_edges(cut, columns, wide=bool(at % 3), shared=at == 4)


def _inside_the_edges(
    cut: Cut, columns: tuple[bool, bool], *, wide: bool, shared: bool
) -> Finished:
    more, blocks = (4 if wide else 1), 3
    rows, cols, depth = cut.rows + more, cut.cols, 2 * cut.depth + more
    if shared:
        depth = 200

    @cache
    def launch() -> Trace:
        rng = np.random.default_rng(11)
        a, b, out = (
            rng.integers(-9, 10, size).astype(np.float32)
            for size in ((rows, depth), (depth, cols), (rows, cols))
        )
        expected = a @ b + 0.5 * out
        stored = [
            np.ascontiguousarray(one.T) if turned else one
            for one, turned in zip((a, b), columns, strict=True)
        ]
        if shared:
            own = np.zeros(2 * blocks * cut.rows * cut.cols, np.float32), np.zeros(4, np.uint32)
            kernel = matmul_balanced_of(cut, *columns, wide, wide)
            report = trace(kernel)[(blocks, 1), cut.threads](out, *stored, 1.0, 0.5, *own)
        else:
            kernel = matmul_inside_of(cut, *columns, wide, wide)
            report = trace(kernel)[(2, 1), cut.threads](out, *stored, 1.0, 0.5)
        assert np.array_equal(out, expected)
        return report

    how = "shared" if shared else "one by one"
    name = f"{cut.rows}x{cut.cols}, {cut.tall} rows per thread, {how}, by columns {columns}"
    return Finished(name, launch, quick=False)


def _direct() -> Iterator[Finished]:
    yield _by_a_few_lanes(4, "elements", "rows", (False, True))
    yield _by_a_few_lanes(16, "depth", "rows", (True, False))


def _by_a_few_lanes(group: int, lanes: str, order: str, columns: tuple[bool, bool]) -> Finished:
    rows, cols, depth = 40, 36, 9 * group + group // 2 + 1

    @cache
    def launch() -> Trace:
        rng = np.random.default_rng(12)
        a, b, out = (
            rng.integers(-9, 10, size).astype(np.float32)
            for size in ((rows, depth), (depth, cols), (rows, cols))
        )
        expected = a @ b + 0.5 * out
        stored = [
            np.ascontiguousarray(one.T) if turned else one
            for one, turned in zip((a, b), columns, strict=True)
        ]
        threads = threads_of(group)
        blocks = -(-rows * cols // (threads // group))
        kernel = matmul_direct_of(group, lanes, order, *columns)
        report = trace(kernel)[(blocks, 1), threads](out, *stored, 1.0, 0.5)
        assert np.array_equal(out, expected)
        return report

    name = f"an element by {group} lanes, lanes along the {lanes}, by columns {columns}"
    return Finished(name, launch, quick=False)


def waivers(reports: Iterator[Trace]) -> list[str]:
    """Each waiver once: where it stands, the kind, whether it is of the source, the reason."""
    found = set()
    for report in reports:
        for one in report.waived:
            file = PurePath(report.files[one.finding.function])
            place = f"{file.parent.name}/{file.name}:{one.finding.line}"
            where = "in the source" if one.in_source else "taught"
            found.add(f"{place:32}{one.finding.kind:16}{where:16}{one.reason}")
    return sorted(found)


def main() -> None:
    """Print the list."""
    for line in waivers(one.launch().waive(TAUGHT) for one in finished()):
        print(line)


if __name__ == "__main__":
    main()
