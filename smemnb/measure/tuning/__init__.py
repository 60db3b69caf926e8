"""Which choices of a kernel are best on a GPU: the machinery of `smemnb tune`.

    space       the choices of a kernel, and the steps in which others are tried
    search      one step after another, from the present best; the timer is an argument
    timer       times candidates on a GPU, in rounds beside the library
    model       what can be said of a candidate without a GPU
    outcome     the file of a search, as text and JSON

Read `search` first.
"""
