"""The reading copy of the workbook: a static site, built with `python -m docs.build OUT`.

    build        the command: sources, Sphinx, the check of what came out
    pages        the sources of the site: chapters with their stored outputs, glossary, changelog,
                 the live pages
    live         a page with live figures in it
    explorer     the explorers of its page
    replay       the replays of its page
    reference    the pages of the public names, from `__all__` and the docstrings
    docstrings   the docstrings of the package as reStructuredText
    mathml       formulas as MathML, which needs no script and no font
    links        a check of the built pages: links, anchors, nothing from another host
    conf.py      Sphinx's configuration

Nothing is executed but the import of the package and a few small launches for the live pages, and
nothing of it is kept in git: chapters are copied when the site is built.
"""
