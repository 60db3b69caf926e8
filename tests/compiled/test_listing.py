"""Listings of nvdisasm as instructions with their source lines."""

import pytest

from smemnb.compiled.listing import Located, Place, read_listing
from smemnb.errors import SmemnbError

LISTING = """
//--------------------- .text.k --------------------------
	.section	.text.k,"ax",@progbits
k:
.text.k:
	//## File "/a/kernels.py", line 31
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_0) ;
	//## File "/a/inner.py", line 3 inlined at "/a/kernels.py", line 35
	//## File "/a/kernels.py", line 35
        /*0020*/                   LDS.128 R4, [R0+0x10] ;
.L_x_0:
        /*0030*/                   RET.REL.NODEC R2 `(k) ;
"""


def test_lines_of_instructions():
    """Four instructions; what stands above one holds until the next place is named."""
    code = read_listing(LISTING)
    assert [one.text for one in code] == [
        "LDC R1, c[0x0][0x28]",
        "@!P0 BRA 0x30",
        "LDS.128 R4, [R0+0x10]",
        "RET.REL.NODEC R2, 0x0",
    ]
    assert code[1].places == (Place("/a/kernels.py", 31),)


def test_inlined_lines():
    """Code of an inlined function names its own line first and the kernel's last."""
    inner, outer = Place("/a/inner.py", 3), Place("/a/kernels.py", 35)
    assert read_listing(LISTING)[2].places == (inner, outer)


def test_two_functions_are_refused():
    """Addresses of two functions both begin at 0: which one a jump means is not known."""
    with pytest.raises(SmemnbError, match="not inlined"):
        read_listing(LISTING + LISTING.replace("k", "other"))


def test_text_has_guard_and_operands():
    assert Located(0, "STS", ("[R1]", "RZ"), "@P0").text == "@P0 STS [R1], RZ"
