"""What the compiler makes of a kernel, without a GPU: PTX, machine code, registers, memory.

Needs NVIDIA's compiler libraries (`available()`); start reading at `toolchain`, then `usage`.
"""

from .toolchain import available, cubin, ptx
from .usage import Resources, resources

__all__ = ["Resources", "available", "cubin", "ptx", "resources"]
