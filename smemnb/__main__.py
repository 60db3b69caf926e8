"""`python -m smemnb` is the command `smemnb`."""

import sys

from .cli import main

sys.exit(main())
