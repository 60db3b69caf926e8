"""What the compiler makes of a kernel, without a GPU: PTX, machine code, registers, memory.

Needs NVIDIA's compiler libraries (`available()`); start reading at `toolchain`, then `usage` and
`lines` (machine code per source line). `warps` runs machine code, to count what it does to memory.
"""

from .lines import Sass, SassLine, sass
from .toolchain import available, cubin, ptx
from .usage import Resources, resources

__all__ = ["Resources", "Sass", "SassLine", "available", "cubin", "ptx", "resources", "sass"]
