"""What PTX and libdevice would add to Numba's IR, for the host.

The coordinates of a thread are globals; libdevice's functions are those of the C library; the
few inline PTX instructions of float16 become conversions of LLVM.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
import struct
from typing import Any

import llvmlite.binding as llvm
import numpy as np

_SAME = """
acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor
fma fmod hypot ldexp lgamma log log10 log1p log2 nearbyint nextafter pow
remainder rint round sin sinh sqrt tan tanh tgamma trunc frexp modf cbrt
""".split()
"""Functions of libdevice that the C library has under the same name."""

_PREDICATES = """
define i32 @__nv_isnand(double %x) { %c = fcmp uno double %x, %x
  %r = zext i1 %c to i32 ret i32 %r }
define i32 @__nv_isnanf(float %x) { %c = fcmp uno float %x, %x
  %r = zext i1 %c to i32 ret i32 %r }
define i32 @__nv_isinfd(double %x) { %a = call double @llvm.fabs.f64(double %x)
  %c = fcmp oeq double %a, 0x7FF0000000000000 %r = zext i1 %c to i32 ret i32 %r }
define i32 @__nv_isinff(float %x) { %a = call float @llvm.fabs.f32(float %x)
  %c = fcmp oeq float %a, 0x7FF0000000000000 %r = zext i1 %c to i32 ret i32 %r }
define i32 @__nv_isfinited(double %x) { %a = call double @llvm.fabs.f64(double %x)
  %c = fcmp olt double %a, 0x7FF0000000000000 %r = zext i1 %c to i32 ret i32 %r }
define i32 @__nv_finitef(float %x) { %a = call float @llvm.fabs.f32(float %x)
  %c = fcmp olt float %a, 0x7FF0000000000000 %r = zext i1 %c to i32 ret i32 %r }
declare double @llvm.fabs.f64(double)
declare float @llvm.fabs.f32(float)
"""


def _powers(kind: str, name: str) -> str:
    """libdevice's power with an int exponent: squaring, and one division at the end."""
    return f"""
define {kind} @{name}({kind} %x, i32 %n) {{
start:
  %minus = sub i32 0, %n
  %negative = icmp slt i32 %n, 0
  %e0 = select i1 %negative, i32 %minus, i32 %n
  br label %loop
loop:
  %a = phi {kind} [%x, %start], [%aa, %more]
  %e = phi i32 [%e0, %start], [%half, %more]
  %r = phi {kind} [1.0, %start], [%next, %more]
  %bit = and i32 %e, 1
  %odd = icmp ne i32 %bit, 0
  %ra = fmul {kind} %r, %a
  %next = select i1 %odd, {kind} %ra, {kind} %r
  %half = lshr i32 %e, 1
  %done = icmp eq i32 %half, 0
  br i1 %done, label %end, label %more
more:
  %aa = fmul {kind} %a, %a
  br label %loop
end:
  %inverse = fdiv {kind} 1.0, %next
  %result = select i1 %negative, {kind} %inverse, {kind} %next
  ret {kind} %result
}}
"""


def _extreme(kind: str, bits: int, name: str, before: str) -> str:
    """PTX's min or max: a number wins over NaN, and of two zeros the sign decides."""
    merged = "or" if before == "olt" else "and"
    return f"""
define {kind} @{name}({kind} %a, {kind} %b) {{
  %an = fcmp uno {kind} %a, %a
  %bn = fcmp uno {kind} %b, %b
  %less = fcmp {before} {kind} %a, %b
  %same = fcmp oeq {kind} %a, %b
  %ai = bitcast {kind} %a to i{bits}
  %bi = bitcast {kind} %b to i{bits}
  %mi = {merged} i{bits} %ai, %bi
  %m = bitcast i{bits} %mi to {kind}
  %x = select i1 %less, {kind} %a, {kind} %b
  %y = select i1 %same, {kind} %m, {kind} %x
  %z = select i1 %bn, {kind} %a, {kind} %y
  %r = select i1 %an, {kind} %b, {kind} %z
  ret {kind} %r
}}
"""


_EXTREMES = (
    _extreme("float", 32, "__nv_fminf", "olt") + _extreme("double", 64, "__nv_fmin", "olt")
    + _extreme("float", 32, "__nv_fmaxf", "ogt") + _extreme("double", 64, "__nv_fmax", "ogt")
)  # fmt: skip


def _registers() -> str:
    lines = ["@thread = global i32 0", "define i32 @ptx_tid_x() {",
             "  %r = load i32, ptr @thread", "  ret i32 %r", "}"]  # fmt: skip
    for name, value in (("ctaid_x", 0), ("ntid_x", 1 << 20), ("nctaid_x", 1)):
        lines.append(f"define i32 @ptx_{name}() {{ ret i32 {value} }}")
    return "\n".join(lines) + "\n"


_LIBRARY = ctypes.CDLL(ctypes.util.find_library("m"))
for _name in _SAME:
    for _suffix in ("", "f"):
        _function = getattr(_LIBRARY, _name + _suffix, None)
        if _function is not None:
            _address = ctypes.cast(_function, ctypes.c_void_p).value
            llvm.add_symbol(f"__nv_{_name}{_suffix}", _address)
KNOWN = {f"__nv_{name}{suffix}" for name in _SAME for suffix in ("", "f")}

_FLOATS = {"half": 16, "float": 32, "double": 64}
_CHECKED = re.compile(r"(fpto[su]i) (half|float|double) (\S+) to (i\d+)")
_SUMMED = re.compile(r"\b(add|sub|mul) nsw (i\d+) (%\S+|-?\d+), (%\S+|-?\d+)")
_DIVIDED = re.compile(r"\bfrem (float|double) (\S+), (\S+)")
_SHIFTED = re.compile(r"\b(shl|lshr|ashr) (i\d+) (%\S+|-?\d+), (%\S+|-?\d+)")


def _checked_casts() -> str:
    """Casts of a float to an integer that note the thread in which C leaves them undefined."""
    parts = []
    for name in _FLOATS:
        for bits in (1, 8, 16, 32, 64):
            for signed in (True, False):
                low = -(2.0 ** (bits - 1)) if signed else 0.0
                high = 2.0 ** (bits - signed)
                op = "fptosi" if signed else "fptoui"
                wide = "%x" if name == "double" else "%w"
                parts.append(f"""
define i{bits} @{op}_{name}_i{bits}({name} %x) {{
  {"" if name == "double" else f"%w = fpext {name} %x to double"}
  %t = call double @llvm.trunc.f64(double {wide})
  %a = fcmp oge double %t, {_hexed(low)}
  %b = fcmp olt double %t, {_hexed(high)}
  %ok = and i1 %a, %b
  br i1 %ok, label %good, label %bad
bad:
  call void @note_undefined()
  ret i{bits} 0
good:
  %r = {op} {name} %x to i{bits}
  ret i{bits} %r
}}""")
    return "\n".join(parts)


def _hexed(value: float) -> str:
    return "0x" + struct.pack(">d", value).hex().upper()


def _checked_shifts() -> str:
    parts = []
    for bits in (8, 16, 32, 64):
        for op in ("shl", "lshr", "ashr"):
            parts.append(f"""
define i{bits} @{op}_i{bits}(i{bits} %x, i{bits} %n) {{
  %ok = icmp ult i{bits} %n, {bits}
  br i1 %ok, label %good, label %bad
bad:
  call void @note_undefined()
  ret i{bits} 0
good:
  %r = {op} i{bits} %x, %n
  ret i{bits} %r
}}""")
    return "\n".join(parts)


def _checked_sums() -> str:
    """Signed +, - and *, which Numba declares free of overflow: they note the thread that wraps."""
    parts = []
    for bits in (8, 16, 32, 64):
        for op in ("add", "sub", "mul"):
            kind, name = f"i{bits}", f"@llvm.s{op}.with.overflow.i{bits}"
            parts.append(f"""
declare {{{kind}, i1}} {name}({kind}, {kind})
define {kind} @nsw_{op}_{kind}({kind} %x, {kind} %y) {{
  %p = call {{{kind}, i1}} {name}({kind} %x, {kind} %y)
  %r = extractvalue {{{kind}, i1}} %p, 0
  %o = extractvalue {{{kind}, i1}} %p, 1
  br i1 %o, label %bad, label %good
bad:
  call void @note_overflow()
  br label %good
good:
  ret {kind} %r
}}""")
    return "\n".join(parts)


def _remainders() -> str:
    """LLVM's frem as NVVM expands it: one fused multiply-add."""
    return "\n".join(
        f"""
declare {kind} @llvm.floor.{short}({kind})
declare {kind} @llvm.fma.{short}({kind}, {kind}, {kind})
define {kind} @frem_{kind}({kind} %x, {kind} %y) {{
  %a = call {kind} @llvm.fabs.{short}({kind} %x)
  %b = call {kind} @llvm.fabs.{short}({kind} %y)
  %q = fdiv {kind} %a, %b
  %t = call {kind} @llvm.floor.{short}({kind} %q)
  %n = fneg {kind} %t
  %r = call {kind} @llvm.fma.{short}({kind} %n, {kind} %b, {kind} %a)
  %m = fneg {kind} %r
  %c = fcmp olt {kind} %x, 0.0
  %s = select i1 %c, {kind} %m, {kind} %r
  ret {kind} %s
}}"""
        for kind, short in (("float", "f32"), ("double", "f64"))
    )


_HALF_FROM = {"f32": "float", "f64": "double", "s16": "i16", "u16": "i16", "s32": "i32",
              "u32": "i32", "s64": "i64", "u64": "i64"}  # fmt: skip
_HALF_COMPARED = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_TO_HALF = re.compile(r'asm\s+"cvt\.rn\.f16\.(\w+) [^"]*", "[^"]*"')
_OF_HALF = re.compile(r'asm\s+"cvt\.(?:rni\.)?(\w+)\.f16 [^"]*", "[^"]*"')


@ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_double)
def _rounded_to_half(value: float) -> int:
    with np.errstate(all="ignore"):
        return int(np.float64(value).astype(np.float16).view(np.uint16))


llvm.add_symbol("half_bits", ctypes.cast(_rounded_to_half, ctypes.c_void_p).value)


def _halves() -> str:
    """float16 by way of float32 or float64, which hold every result before it is rounded."""
    parts = ["declare i16 @half_bits(double)"]
    for name, kind in _HALF_FROM.items():
        op = "sitofp" if name[0] == "s" else "uitofp"
        up = {"f32": "fpext", "f64": "bitcast"}.get(name, op)
        down = {"f32": "%f", "f64": "%d"}.get(name)
        parts.append(f"""
define i16 @ptx_half_of_{name}({kind} %x) {{
  %d = {up} {kind} %x to double
  %h = call i16 @half_bits(double %d)
  ret i16 %h
}}""")
        cast = f"%r = call {kind} @fpto{name[0]}i_float_{kind}(float %n)"
        if down:
            cast = f"%r = {'fpext' if name == 'f64' else 'bitcast'} float %f to {kind}"
        parts.append(f"""
define {kind} @ptx_{name}_of_half(i16 %x) {{
  %h = bitcast i16 %x to half
  %f = fpext half %h to float
  %n = call float @llvm.rint.f32(float %f)
  {cast}
  ret {kind} %r
}}""")
    for name, op in (("pl", "fadd"), ("mi", "fsub"), ("ml", "fmul"), ("dv", "fdiv")):
        parts.append(_of_halves(f"_Z{name}RK6__halfS1__nbst", f"%r = {op} float %a, %b"))
    for name, op in _HALF_COMPARED.items():
        parts.append(_of_halves(f"_Z{name}RK6__halfS1__nbst", f"%c = fcmp {op} float %a, %b"))
    parts.append(_of_halves("_ZngRK6__half_nbst", "%r = fneg float %a", one=True))
    parts.append(_of_halves("_ZpsRK6__half_nbst", "%r = fadd float %a, -0.0", one=True))
    parts.append(
        _of_halves("_ZL6__habs6__half_nbst", "%r = call float @llvm.fabs.f32(float %a)", one=True)
    )
    return "\n".join(["declare float @llvm.rint.f32(float)", *parts])


def _of_halves(name: str, compute: str, one: bool = False) -> str:
    """A function of numba-cuda's float16 library: pointers in, the result behind a pointer."""
    second = (
        ""
        if one
        else """
  %bh = load half, ptr %y
  %b = fpext half %bh to float"""
    )
    result = """
  %d = fpext float %r to double
  %h = call i16 @half_bits(double %d)
  store i16 %h, ptr %ret"""
    if "fcmp" in compute:
        result = """
  %z = zext i1 %c to i8
  store i8 %z, ptr %ret"""
    return f"""
define i32 @{name}(ptr %ret, ptr %x{"" if one else ", ptr %y"}) {{
  %ah = load half, ptr %x
  %a = fpext half %ah to float{second}
  {compute}{result}
  ret i32 0
}}"""


_NOTE = """
declare double @llvm.rint.f64(double)
define i64 @__nv_llrint(double %x) {
  %r = call double @llvm.rint.f64(double %x)
  %i = call i64 @fptosi_double_i64(double %r)
  ret i64 %i
}
@undefined = global [4096 x i8] zeroinitializer
declare double @llvm.trunc.f64(double)
define void @note_undefined() {
  call void @note(i8 1)
  ret void
}
define void @note_overflow() {
  call void @note(i8 2)
  ret void
}
define void @note(i8 %what) {
  %t = load i32, ptr @thread
  %p = getelementptr [4096 x i8], ptr @undefined, i32 0, i32 %t
  %old = load i8, ptr %p
  %new = or i8 %old, %what
  store i8 %new, ptr %p
  ret void
}
"""
_POWERS = _powers("float", "__nv_powif") + _powers("double", "__nv_powi")
SUPPORT = "".join(
    (_PREDICATES, _EXTREMES, _POWERS, _registers(), _NOTE, _checked_casts(), _checked_shifts())
)
SUPPORT += _halves() + _checked_sums() + _remainders()
OWN = set(re.findall(r"define \S+ @(\w+)\(", SUPPORT))
_DECLARED = "\n".join(
    f"declare {kind} @{name}({given})"
    for kind, name, given in re.findall(r"define (\S+) @(\w+)\((.*?)\)", SUPPORT)
    if re.match("(fpto|shl_|lshr_|ashr_|nsw_|frem_|ptx_.*half)", name)
)

_REGISTER = re.compile(r'"?llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.(\w)"?')


_SIMPLE = re.compile(r'(?:\bi\d+|\bhalf|\bfloat|\bdouble|\bptr|%"[^"]*")\*')


def _opaque(line: str) -> str:
    """A line with its typed pointers as `ptr`, which is all that LLVM reads now."""
    while "*" in line:
        shorter = _SIMPLE.sub("ptr", line)
        if shorter == line:
            end = next((m.start() for m in re.finditer(r"[]})]\*", line)), None)
            if end is None:
                return line
            start = _opening(line, end)
            if line[end] == ")":  # a function's type begins with that of its result
                start = re.search(r"[\w{}\[\]]+ ?$", line[:start]).start()  # type: ignore[union-attr]
            shorter = line[:start] + "ptr" + line[end + 2 :]
        line = shorter
    return line


def _opening(line: str, end: int) -> int:
    """Where the bracket that closes at `end` opens."""
    depth = 0
    for at in range(end, -1, -1):
        depth += (line[at] in "]})") - (line[at] in "[{(")
        if depth == 0:
            return at
    raise ValueError(line)


def for_host(text: str) -> str:
    """The IR of one module with the target taken out and registers made functions."""
    text = "\n".join(map(_opaque, text.splitlines()))
    text = re.sub(r"^target .*$", "", text, flags=re.M)
    text = re.sub(r"^!nvvm.*$", "", text, flags=re.M)
    text = _OF_HALF.sub(r"@ptx_\1_of_half", _TO_HALF.sub(r"@ptx_half_of_\1", text))
    text = _CHECKED.sub(r"call \4 @\1_\2_\4(\2 \3)", text)
    text = _SUMMED.sub(r"call \2 @nsw_\1_\2(\2 \3, \2 \4)", text)
    text = _DIVIDED.sub(r"call \1 @frem_\1(\1 \2, \1 \3)", text)
    text = _SHIFTED.sub(r"call \2 @\1_\2(\2 \3, \2 \4)", text)
    return _REGISTER.sub(r"ptx_\1_\2", text) + _DECLARED


def unknown_names(modules: list[Any]) -> set[str]:
    """Functions that are declared and that neither these modules nor the host has."""
    defined = {f.name for m in modules for f in m.functions if not f.is_declaration}
    asked = {f.name for m in modules for f in m.functions if f.is_declaration}
    have = OWN | KNOWN | {"half_bits"}
    missing = asked - defined - have
    return {name for name in missing if not name.startswith("llvm.") or "nvvm" in name}


def machine() -> Any:
    """A compiler for this processor, without optimisation; an engine takes it over."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=0
    )
