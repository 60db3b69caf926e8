"""Changes that no test can see, with the reason, by `Fault.key`."""

EQUIVALENTS: dict[str, str] = {
    "smemnb/rules/layout/places.py: return given.astype(np.int64, copy=False) => "
    "return given.astype(np.int64, copy=True)": "a copy has the same numbers, and nobody writes it",
    "smemnb/measure/bounds/ladders.py: "
    "pitches, ((rows, cols), (rows, depth), (depth, cols)), strict=True => "
    "pitches, ((rows, cols), (rows, depth), (depth, cols)), strict=False": "always three of each",
    "smemnb/compiled/warps/parameters.py: "
    "reach = [(extent - 1) * step for extent, step in "
    "zip(array.shape, array.strides, strict=True)] => "
    "reach = [(extent - 1) * step for extent, step in "
    "zip(array.shape, array.strides, strict=False)]": ("an array has as many strides as extents"),
}
