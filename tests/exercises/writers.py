"""What several processes write at once; a module of its own, so that they import little."""

from smemnb.exercises.progress import remember


def many(first: int) -> None:
    """25 pieces of news of exercises of their own, and 25 of one that all write."""
    for number in range(first, first + 25):
        assert remember(f"made_up_{number}", done=True, checks=1) == ""
        assert remember("both", checks=1) == ""
