"""Lines of solutions that the checker does not miss, and why each may be missing.

Exercise -> line of its solution, as it stands there without its comment -> the reason.
"""

SECOND_FENCE = (
    "only a fence tells a GPU that what stands behind the atomic is read after it; "
    "the checker asks for the fence of the block that stores"
)

EQUIVALENTS: dict[str, dict[str, str]] = {
    "ex50_peak": {
        "line 29: cuda.threadfence()": SECOND_FENCE,
    },
    "ex50_total": {
        "line 26: cuda.threadfence()": SECOND_FENCE,
    },
    "ex51_peaks": {
        "if lane >= step:": "shfl_up hands the lanes below their own value, the largest with itself"
    },
    "ex51_steps": {
        "acc = buffers[old, tx]": "acc still holds this very sum, of the step before, in a register"
    },
    "ex55_mode": {
        "line 27: cuda.threadfence()": SECOND_FENCE,
    },
    "ex61_rows": {
        "to = chunk": "for the stub alone: the learner's line below gives it its value",
        "at = chunk": "likewise: the line below it gives the chunk anew",
    },
}
