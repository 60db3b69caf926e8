"""Sphinx's configuration of the reading copy; `python -m docs.build OUT` runs it.

Sphinx with myst-nb, because it reads notebooks with their stored outputs and docstrings with their
signatures, checks every reference while it builds, and is kept up by large projects. Its pages ask
no other host for anything with this theme and without its default MathJax: furo takes the fonts of
the reader's system and brings its own scripts, and `docs.mathml` writes formulas as MathML.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from smemnb.version import VERSION

project = "smemnb"
author = "the authors of smemnb"
version = release = VERSION
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "docs.docstrings",
    "docs.mathml",
]

nb_execution_mode = "off"  # outputs are the stored ones, which the tests compare
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3  # the words of the glossary are headings of this depth

add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
html_math_renderer = "mathml"

html_theme = "furo"
html_title = f"smemnb {VERSION}"
html_favicon = "static/favicon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = True
pygments_style = "tango"
pygments_dark_style = "github-dark"
