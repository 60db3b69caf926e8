"""Copies that learners made of earlier chapters import device functions by earlier paths."""

from smemnb.exercises import paper
from smemnb.exercises.chapters import ex05_product, ex06_square, ex06_turned, ex07_ahead, ex07_walk


def test_old_paths():
    """Each import of the chapters 06, 07 and 08b as they were."""
    from smemnb.exercises.chapters.tiles.ch05_tiled_matmul.product import product
    from smemnb.exercises.chapters.tiles.ch06_register_tiling.square import stage
    from smemnb.exercises.chapters.tiles.ch06_register_tiling.turned import (
        clear,
        multiply,
        stage_b,
        store,
    )
    from smemnb.exercises.chapters.tiles.ch07_double_buffering.ahead import (
        ahead,
        ahead_early,
        fetch,
        one_buffer,
    )
    from smemnb.exercises.chapters.tiles.ch07_double_buffering.walk import load, put
    from smemnb.exercises.chapters.tiles.ch08b_checkpoint import paper as old_paper

    now = ex06_turned
    assert (product, stage, old_paper) == (ex05_product.product, ex06_square.stage, paper)
    assert [clear, multiply, stage_b, store] == [now.clear, now.multiply, now.stage_b, now.store]
    now = ex07_ahead
    assert [ahead, ahead_early, fetch] == [now.ahead, now.ahead_early, now.fetch]
    assert [one_buffer, load, put] == [now.one_buffer, ex07_walk.load, ex07_walk.put]
