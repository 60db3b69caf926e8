"""A launch that takes long says where its time goes."""

import inspect

import numpy as np
import pytest

from smemnb.errors import KernelStopped, LaunchRefused
from smemnb.lockstep import launch
from smemnb.lockstep.clock import Clock
from smemnb.simulator.launch import slow_after_s
from tests.button import stop_button
from tests.facts import facts

SOON = 1e-6


def two_loops(out, rounds):
    for _ in range(4):
        out[0] += 1
    for _ in range(rounds):
        out[0] += 1


def one_loop(out, rounds):
    for _ in range(rounds):
        out[0] += 1


def no_loop(out, rounds):
    out[0] = rounds


def run(kernel, rounds, grid=1, **how):
    out = np.zeros(1, np.int64)
    launch(kernel, (grid, 1, 1), (1, 1, 1), [out, rounds], **how)
    return out[0]


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel)
    return first + next(at for at, line in enumerate(lines) if text in line)


def test_slow_launch_tells_its_loop_once(capsys):
    """One line on stderr: the kernel with its launch, the loop with its line and rounds."""
    assert run(two_loops, 200, slow_after_s=SOON) == 204
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert {"two_loops[1, 1]", "two_loops", str(line_of(two_loops, "range(rounds)"))} <= set(
        facts(told)
    )


def test_slow_launch_without_a_loop(capsys):
    """The blocks that are done are told where no loop goes round."""
    run(no_loop, 5, grid=4, slow_after_s=SOON, lanes_per_batch=32)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert {"no_loop[4, 1]", "1", "4"} <= set(facts(told))


def test_quick_and_quiet_launches_say_nothing(capsys):
    """Nothing is said before the time, and nothing where it is off."""
    run(two_loops, 200, slow_after_s=60)
    run(two_loops, 200)
    assert capsys.readouterr().err == ""


def test_the_loop_with_the_most_time_is_named():
    """Not the one that went round last."""
    clock = Clock("kernel", (1, 1, 1), (32, 1, 1), None, None)
    clock._looked -= 5
    clock._began -= 6
    clock.look("the loop in line 3", 1600)
    clock.look("the loop in line 7", 1616)
    assert {"3", "1600"} <= set(facts(clock.account()))
    assert "7" not in facts(clock.account())


def test_a_launch_that_is_stopped_names_the_loop():
    """Patience that is over names the line where the time went."""
    with pytest.raises(KernelStopped) as stopped:
        run(two_loops, 1_000_000, patience_s=0.05)
    assert f"line {line_of(two_loops, 'range(rounds)')}" in str(stopped.value)


def test_an_interrupted_launch_names_the_loop():
    """Ctrl-C says which loop was going round, and its rounds."""
    with stop_button(), pytest.raises(KeyboardInterrupt) as interrupted:
        run(one_loop, 10_000_000)
    assert f"line {line_of(one_loop, 'range(rounds)')}" in str(interrupted.value)


@pytest.mark.parametrize("said, seconds", [("", 60.0), ("5", 5.0), ("0.5", 0.5), ("off", None)])
def test_when_a_launch_counts_as_slow(monkeypatch, said, seconds):
    """Seconds of the environment, 60 by default."""
    monkeypatch.setenv("SMEMNB_SLOW_SECONDS", said)
    assert slow_after_s() == seconds


@pytest.mark.parametrize("said", ["0", "-1", "soon", "nan"])
def test_what_is_no_number_of_seconds_is_refused(monkeypatch, said):
    """The refusal names the variable and what it holds."""
    monkeypatch.setenv("SMEMNB_SLOW_SECONDS", said)
    with pytest.raises(LaunchRefused, match="SMEMNB_SLOW_SECONDS") as refused:
        slow_after_s()
    assert repr(said) in str(refused.value)
