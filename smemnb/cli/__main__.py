"""`python -m smemnb.cli`, where the command `smemnb` is not on the path."""

import sys

from . import main

sys.exit(main())
