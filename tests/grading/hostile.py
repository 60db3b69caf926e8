"""Sixty and more hostile submissions: what is handed in, and the rows that are right for it.

`TEXTS` attack whoever reads, `KERNELS` Numba's inference and the engine, `NAMES` the table and the
files of grades; they have the same row with `--execute` and without, or a second one. `BODIES` are
Python that only `--execute` runs. Each row is that of ex00_scale: a set of "grade" or
"grade reason". The files that can be read at all answer ex01_place too, and rightly.
"""

import json

from tests.grading import learners as made
from tests.grading.conftest import notebook

CHECK = 'check("ex00_scale", scale)\n'
REST = made.PLACE + 'check("ex01_place", place)\n'
ANY_STOP = {"stopped source", "stopped time", "stopped memory", "stopped crash"}
NEEDS = {"stopped needs --execute"}
REFUSED = {"wrong kernel", "stopped source", "stopped crash", "wrong launch", "wrong output"}
UNREAD = {"not tried source", "stopped source"}
SLOW = {"stopped time", "stopped memory", "wrong time", "wrong launch", "wrong kernel"}
RIGHT = {"accepted"}
ENDED = {"stopped crash"}


def constant(lines):
    """A file whose scale needs the constant FACTOR that these lines make."""
    return made.IMPORTS + lines + made.SCALE.replace("2 * inp", "FACTOR * inp") + CHECK + REST


def kernel(body, above=""):
    """A file whose scale has this body, with lines above it."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    head = "\n@cuda.jit\ndef scale(out, inp):\n    i = cuda.grid(1)\n"
    return made.IMPORTS + above + head + lines + CHECK + REST


RIGHT_BODY = "if i < inp.shape[0]:\n    out[i] = 2 * inp[i]"


def cells(*texts, **more):
    """A notebook of these cells as a dictionary."""
    return {**json.loads(notebook(list(texts))), **more}


def doubled(depth):
    """Lines that make a tuple of 2**depth items by naming each one twice in the next."""
    return "A0 = (1, 1)\n" + "".join(f"A{n} = (A{n - 1}, A{n - 1})\n" for n in range(1, depth))


def devices(count, first, inner):
    """Device functions f0, f1, ... of which each calls the one before it."""
    lines = f"\n@cuda.jit(device=True)\ndef f0(x):\n    return {first}\n"
    for n in range(1, count):
        lines += (
            f"\n@cuda.jit(device=True)\ndef f{n}(x):\n    return {inner.format(f=f'f{n - 1}')}\n"
        )
    return lines


OK = made.IMPORTS + made.SCALE + CHECK + REST
STARS = "".join(f"x{n} = {n}\n" for n in range(20_000))
TEXTS = {
    # the parser
    "parentheses": (made.IMPORTS + "X = " + "(" * 100_000 + CHECK, UNREAD),
    "minuses": (made.IMPORTS + "FACTOR = " + "-" * 100_000 + "2\n" + CHECK, UNREAD),
    "attributes": (constant("FACTOR = np" + ".a" * 50_000 + "\n"), UNREAD | NEEDS),
    "sums": (constant("FACTOR = 1" + " + 1" * 20_000 + "\n"), UNREAD | NEEDS),
    "indented": (
        made.IMPORTS + "".join("  " * n + "if 1:\n" for n in range(500)) + CHECK,
        UNREAD,
    ),
    "null": (OK + "\0", UNREAD),
    "utf16": (OK.encode("utf-16"), {"not tried source"}),
    "marked": (b"\xef\xbb\xbf" + OK.encode(), RIGHT),
    "rot13": (b"# coding: rot13\n" + OK.encode(), UNREAD),
    "escapes": (b"# coding: unicode_escape\n" + OK.encode(), UNREAD),
    "utf7": (b"# coding: utf-7\n" + OK.encode(), UNREAD),
    "line_ends": (
        OK.replace("    i = ", "    # \x0b \x0c \x1c \x85 \u2028 \u2029\n    i = "),
        RIGHT,
    ),
    "form_feed": (OK.replace("\n@cuda.jit\ndef scale", "\n\x0c@cuda.jit\ndef scale"), RIGHT),
    "returns": (OK.replace("\n", "\r"), RIGHT),
    "stars": (
        {"b.py": STARS, "k.py": made.IMPORTS + "from b import *\n" * 15_000 + made.SCALE + CHECK},
        {"stopped time", "stopped memory", "stopped crash", "accepted"},
    ),
    "hexadecimal": (constant("FACTOR = 0x" + "f" * 400_000 + "\n"), NEEDS),
    "returned": (constant("FACTOR = len(str(10))\nreturn FACTOR\n"), NEEDS),
    "decimal": (constant("FACTOR = " + "9" * 100_000 + "\n"), UNREAD),
    # constants
    "powers": (constant("FACTOR = 9**9**9**9\n"), NEEDS),
    "shift": (constant("FACTOR = 1 << (1 << 40)\n"), NEEDS),
    "doubled": (constant(doubled(60) + "FACTOR = A59\n"), NEEDS | REFUSED),
    "ranges": (
        constant("T = np.array([" + "range(4096), " * 4000 + "])\nFACTOR = T\n"),
        NEEDS | ANY_STOP,
    ),
    "nested_array": (
        constant("FACTOR = np.array(" + "[" * 80 + "1" + "]" * 80 + ")\n"),
        ANY_STOP | NEEDS | REFUSED,
    ),
    "timedelta": (constant("FACTOR = np.timedelta64(2)\n"), NEEDS | REFUSED),
    "longdouble": (constant("FACTOR = np.longdouble(2)\n"), NEEDS | REFUSED),
    "surrogate": (constant('FACTOR = "\\ud800\\u202e\\x1b[2J"\n'), NEEDS | REFUSED),
    "loop_of_names": (constant("FACTOR = 2\nFACTOR = (FACTOR, FACTOR)\n" * 1000), NEEDS | REFUSED),
    "digits": (constant("FACTOR = round(5, -100000000)\n"), NEEDS),
    # notebooks
    "twice.ipynb": (
        '{"cells": [], ' + json.dumps(cells(OK))[1:],
        RIGHT,
    ),
    "number.ipynb": (
        json.dumps(cells(OK)).replace('"nbformat": 4', '"nbformat": ' + "9" * 10_000),
        UNREAD,
    ),
    "deep.ipynb": ('{"cells": ' + "[" * 200_000, UNREAD),
    "deep_beside.ipynb": (
        json.dumps(cells(OK))[:-1] + ', "more": ' + "[" * 50_000 + "]" * 50_000 + "}",
        UNREAD | RIGHT,
    ),
    "infinite.ipynb": (json.dumps(cells(OK, more=float("inf"))), RIGHT),
    "surrogates.ipynb": (json.dumps(cells('x = "\ud800"', "\udfff\ud800 = 3", OK)), RIGHT),
    "sources.ipynb": (json.dumps(cells(3, None, {}, OK)), UNREAD | RIGHT),
    "letters.ipynb": (json.dumps(cells(list(OK))), RIGHT),
    "magics.ipynb": (json.dumps(cells("%x\n" * 30_000, OK)), RIGHT | ANY_STOP),
    "many.ipynb": (json.dumps(cells(*[""] * 3000, OK)), UNREAD),
}
KERNELS = {
    # the engine
    "spins": (made.SPINNING + CHECK + REST, SLOW),
    "spins_plainly": (kernel("while True:\n    pass"), SLOW | REFUSED),
    "lock": (
        kernel(
            "lock = cuda.shared.array(1, np.int32)\nlock[0] = 0\ncuda.syncthreads()\n"
            "while cuda.atomic.cas(lock, 0, 0, 1) != 0:\n    pass\ncuda.syncthreads()\n"
            + RIGHT_BODY
        ),
        SLOW | REFUSED,
    ),
    "far": (kernel("for k in range(1 << 62):\n    out[0] = k"), SLOW | REFUSED),
    "prints": (
        kernel("for k in range(1 << 40):\n    print(i, k)\n" + RIGHT_BODY),
        SLOW | REFUSED | {"right values findings"},
    ),
    "shared": (kernel("t = cuda.shared.array(1 << 40, float32)\nt[i] = 0\n" + RIGHT_BODY), REFUSED),
    "local": (
        kernel("t = cuda.local.array(1 << 28, float32)\nt[i] = 0\nout[i] = t[i]\n" + RIGHT_BODY),
        REFUSED | SLOW,
    ),
    "negative": (kernel("t = cuda.shared.array(-1, float32)\nt[i] = 0\n" + RIGHT_BODY), REFUSED),
    "outside": (kernel("out[(1 << 62) + i] = inp[-(1 << 62) - i]"), REFUSED),
    "inputs": (kernel("if i < inp.shape[0]:\n    inp[i] = 0\n    out[i] = 0"), {"wrong output"}),
    "nothing_is_wrong": (
        kernel("if i < inp.shape[0]:\n    out[i] = np.nan"),
        {"wrong output"},
    ),
    # Numba's inference
    "recursion": (
        kernel("out[i] = g(inp[i])", "\n@cuda.jit(device=True)\ndef g(x):\n    return g(x) + 1\n"),
        SLOW | REFUSED,
    ),
    "calls": (
        kernel("out[i] = f40(inp[i])", devices(41, "x", "{f}(x) + {f}(x)")),
        SLOW | REFUSED,
    ),
    "types": (
        kernel("y = f30(inp[i])\n" + RIGHT_BODY, devices(31, "(x, 1)", "{f}((x, (x, 1)))")),
        SLOW | REFUSED | {"accepted"},
    ),
    "unrolled": (
        kernel(
            "for k in literal_unroll(T):\n    out[i] += k\n" + RIGHT_BODY,
            "from numba import literal_unroll\nT = (1, 1.5) * 2048\n",
        ),
        SLOW | REFUSED | NEEDS,
    ),
    "statements": (kernel("x = 0\n" + "x = x * i + 1\n" * 6_000 + RIGHT_BODY), SLOW | REFUSED),
    "literal": (kernel("x = 0x" + "f" * 100_000 + "\n" + RIGHT_BODY), {"wrong kernel"}),
    "literal_power": (kernel("x = 9 ** 9 ** 9 ** 9\nout[i] = x"), SLOW | REFUSED),
    "literal_shift": (kernel("x = 1 << (1 << 62)\nout[i] = x"), SLOW | REFUSED),
    "elifs": (
        kernel(
            "if i < 0:\n    pass\n"
            + "".join(f"elif i == -{n}:\n    pass\n" for n in range(1, 3000))
            + RIGHT_BODY
        ),
        SLOW | REFUSED | RIGHT,
    ),
    "parameters": (
        OK.replace("(out, inp)", f"({', '.join(f'p{n}' for n in range(20_000))})", 1),
        REFUSED,
    ),
    "signature": (
        OK.replace("@cuda.jit", "@cuda.jit(\"__import__('os').abort()\")", 1),
        REFUSED | NEEDS,
    ),
    "signature_of_many": (
        OK.replace("@cuda.jit", '@cuda.jit("void(UniTuple(int32, 1000000000))")', 1),
        REFUSED | NEEDS | SLOW,
    ),
    "dimensions": (
        OK.replace("@cuda.jit", '@cuda.jit("void(float32[' + ":," * 20_000 + ':], int32)")', 1),
        REFUSED | NEEDS | SLOW,
    ),
    "generator": (kernel("yield i\n" + RIGHT_BODY), REFUSED),
    "imports": (kernel("import os\nos.abort()\n" + RIGHT_BODY), REFUSED),
    "classes": (
        kernel("x = ().__class__.__bases__[0].__subclasses__()\n" + RIGHT_BODY),
        REFUSED,
    ),
    "object_mode": (
        kernel(
            "with objmode():\n    os.abort()\n" + RIGHT_BODY,
            "from numba import objmode\nimport os\n",
        ),
        REFUSED | NEEDS,
    ),
    "reads": (kernel("x = np.fromfile('/etc/passwd')\n" + RIGHT_BODY), REFUSED | NEEDS),
    "extensions": (
        OK.replace("@cuda.jit", "@cuda.jit(extensions=[open('x', 'w')])", 1),
        REFUSED | NEEDS,
    ),
    "link": (OK.replace("@cuda.jit", "@cuda.jit(link=['/etc/passwd'])", 1), REFUSED | NEEDS),
    "defaults": (
        OK.replace("(out, inp)", "(out, inp=__import__('os').abort())", 1),
        NEEDS | REFUSED,
    ),
    "decorated": (
        OK.replace("@cuda.jit", "@__import__('os').abort\n@cuda.jit", 1),
        NEEDS | REFUSED,
    ),
    "coroutine": (OK.replace("def scale", "async def scale", 1), NEEDS | REFUSED),
}
NAMES = {
    "eve\nada,ex00_scale,accepted.py": (
        made.IMPORTS + made.SCALE_WRONG + CHECK + REST,
        "wrong output",
    ),
    "\u202eada\u200b.py": (made.IMPORTS + made.SCALE_WRONG + CHECK + REST, "wrong output"),
    "--csv=x.py": (OK, "accepted"),
    "=cmd|' calc'!A0.py": (OK, "accepted"),
    "n" * 240 + ".py": (OK, "accepted"),
    "\u00e9.py": (OK, "accepted"),
    "e\u0301.py": (made.IMPORTS + made.SCALE_WRONG + CHECK + REST, "wrong output"),
    "ADA.py": (made.IMPORTS + made.SCALE_WRONG + CHECK + REST, "wrong output"),
    "\udcff\udcfe.py": (OK, "accepted"),
    "\x1b[2J\x07.py": (OK, "accepted"),
}
BASE = "import ctypes, gc, json, mmap, os, signal, socket, sys, threading, time\n"
WRONG_TOO = "WRONG"
"""A body that begins with this has a kernel that is wrong; nothing it does may change that."""

BODIES = {
    "family": (
        "for n in range(8):\n    if os.fork() == 0:\n        os.setsid()\n"
        "        held = bytearray(b'x') * (64 << 20)\n        time.sleep(60)\ntime.sleep(30)",
        {"stopped memory"},
    ),
    "deaf_daemons": (
        "for number in range(1, 30):\n    try:\n        signal.signal(number, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\nfor n in range(5):\n"
        "    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
        "            os.chdir('/')\n            time.sleep(600)\n        os._exit(0)",
        RIGHT,
    ),
    "forks": (
        "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        ANY_STOP | {"stopped processes"},
    ),
    "vforks": (
        "for n in range(300):\n    if os.fork():\n       "
        " os._exit(0)\n    os.setsid()\ntime.sleep(60)",
        ANY_STOP | {"stopped processes"},
    ),
    "ptrace": (
        "libc = ctypes.CDLL(None)\nfor p in [os.getppid(), *map(int, filter(str.isdecimal,"
        " os.listdir('/proc')))]:\n    libc.ptrace(16, p, 0, 0)\n    try:\n"
        "        open(f'/proc/{p}/mem', 'r+b').close()\n    except OSError:\n        pass",
        RIGHT | ENDED | {"stopped time"},
    ),
    "descriptors": (
        "for p in filter(str.isdecimal, os.listdir('/proc')):\n    for fd in range(10):\n"
        "        try:\n            with open(f'/proc/{p}/fd/{fd}', 'wb', 0) as s:\n"
        "                s.write(b'{\"end\": true}\\n' * 100)\n"
        "        except OSError:\n            pass",
        RIGHT | ANY_STOP,
    ),
    "signals": (
        "for p in map(int, filter(str.isdecimal, os.listdir('/proc'))):\n"
        "    if p != os.getpid():\n        for number in (2, 15, 19, 9):\n            try:\n"
        "                os.kill(p, number)\n            except OSError:\n                pass",
        ENDED | {"stopped time"},
    ),
    "group": ("os.killpg(0, 9)", ENDED),
    "alarm": ("signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\ntime.sleep(1)", ENDED),
    "long_line": (
        "for fd in range(3, 12):\n    try:\n        for n in range(20):\n"
        "            os.write(fd, b'x' * (1 << 20))\n    except OSError:\n        pass",
        ANY_STOP | {"stopped processes"},
    ),
    "deep_line": (
        'for fd in range(3, 12):\n    try:\n        os.write(fd, b\'{"exercise": "ex00_scale",'
        " \"programs\": ' + b'[' * 200000 + b'\\n')\n    except OSError:\n        pass",
        RIGHT | ANY_STOP,
    ),
    "programs": (
        "for fd in range(3, 12):\n    try:\n        line = json.dumps({'exercise': 'ex00_scale',"
        " 'programs': ['{}'] * 100000, 'reason': '', 'text': ''})\n"
        "        os.write(fd, line.encode() + b'\\n')\n    except OSError:\n        pass",
        ANY_STOP,
    ),
    "high_lines": (
        "one = {'name': 'scale', 'source': '@cuda.jit\\ndef scale(out, inp):\\n    pass\\n',"
        " 'first_line': 999990, 'kind': 'kernel', 'options': {}, 'names': {}, 'defaults': []}\n"
        "text = json.dumps({'entry': 0, 'functions': [{**one,"
        " 'file': f'{n}.py'} for n in range(100)]})\n"
        "line = json.dumps({'exercise': 'ex00_scale', 'programs': [text]})\n"
        "for fd in range(3, 12):\n    try:\n        os.write(fd, line.encode() + b'\\n')\n"
        "    except OSError:\n        pass\ntime.sleep(0.5)",
        ANY_STOP | {"wrong output"},
    ),
    "odd_values": (
        "values = [['int', '9' * 900], ['float', '0x1p99999999'], ['array', 'object', [1], ''],"
        " ['array', 'float32', [2 ** 62, 2 ** 62], ''], ['listed',"
        " 'os.system'], ['function', 10 ** 400],"
        " ['dtype', 'V999999999'], 3, None, [], [[]], ['tuple', 3]]\n"
        "one = {'name': 'scale', 'source': '@cuda.jit\\ndef"
        " scale(out, inp):\\n    pass\\n', 'file': 'f',"
        " 'first_line': 1, 'kind': 'kernel', 'options': {}, 'defaults': []}\n"
        "texts = [json.dumps({'entry': 0, 'functions': [{**one,"
        " 'names': {'x': v}}]}) for v in values]\n"
        "line = json.dumps({'exercise': 'ex00_scale', 'programs': texts})\n"
        "for fd in range(3, 12):\n    try:\n        os.write(fd, line.encode() + b'\\n')\n"
        "    except OSError:\n        pass\ntime.sleep(0.5)",
        ANY_STOP,
    ),
    "patches": (
        WRONG_TOO + "import smemnb.exercises.check as c, smemnb.grading.judging as j\n"
        "import smemnb.exercises.grading.verdict as v\n"
        "c.graded = c.check = j.judged = lambda *a, **k: None\n"
        "v.Verdict.reason = ''",
        {"wrong output"},
    ),
    "lies_of_lines": (
        WRONG_TOO + "import inspect, linecache\nlinecache.getlines = lambda *a: ['x = 3\\n'] * 99\n"
        "inspect.getsourcelines = lambda f: (['@cuda.jit\\n', 'def"
        " scale(out, inp):\\n', '    out[0] = 7\\n'], 1)",
        {"wrong output", "stopped source", "stopped crash"},
    ),
    "at_exit": (
        "import atexit\natexit.register(lambda: os.system('sleep 600 &'))\n"
        "class Late:\n    def __del__(self):\n        os.kill(os.getppid(), 9)\n"
        "sys.late = Late()\nthreading.Timer(0.2, lambda: os.abort()).start()",
        RIGHT | ENDED,
    ),
    "spinning_threads": (
        "def spin():\n    while True:\n        pass\n"
        "for n in range(20):\n    threading.Thread(target=spin, daemon=True).start()",
        RIGHT | ANY_STOP,
    ),
    "thousand_threads": (
        "for n in range(5000):\n   "
        " threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        ANY_STOP | {"stopped processes"},
    ),
    "big_mapping": (
        "m = mmap.mmap(-1, 200 << 20)\nfor n in range(0, 200 << 20, 4096):\n    m[n] = 1\n"
        "for n in range(5):\n    if os.fork() == 0:\n        k = mmap.mmap(-1, 120 << 20)\n"
        "        for n in range(0, 120 << 20, 4096):\n           "
        " k[n] = 1\n        time.sleep(60)\n"
        "time.sleep(30)",
        ANY_STOP,  # its own limit of memory or that of all of them: which comes first is chance
    ),
    "segments": (
        "libc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\nfor n in range(8):\n"
        "    one = libc.shmget(0, 32 << 20, 0o1777)\n    if one < 0:\n        continue\n"
        "    at = libc.shmat(one, None, 0)\n    ctypes.memset(at, 1, 32 << 20)\n"
        "    libc.shmdt(ctypes.c_void_p(at))\n"
        "    raise ValueError('memory that no process is charged for')",
        RIGHT,
    ),
    "sockets": (
        "held = []\nfor n in range(10):\n    if os.fork() == 0:\n        break\n"
        "try:\n    while True:\n        a, b = socket.socketpair()\n        held += [a, b]\n"
        "        for end in (a, b):\n            end.setblocking(False)\n            try:\n"
        "                while True:\n                    end.send(b'x' * 65536)\n"
        "            except BlockingIOError:\n                pass\n"
        "except OSError:\n    pass\ntime.sleep(1)\n"
        "if len(held) > 64:\n    raise ValueError('much memory that no process is charged for')",
        RIGHT,
    ),
    "in_memory": (
        "for n in range(40):\n    for top in ('/dev/shm', '/tmp', '.'):\n        try:\n"
        "            with open(f'{top}/smemnb-hostile-{n}', 'wb') as s:\n"
        "                s.write(b'x' * (2 << 20))\n        except OSError:\n            pass",
        RIGHT | {"stopped written", "stopped crash", "stopped memory"},
    ),
    "pipes": (
        "held = []\nfor n in range(20):\n    r, w = os.pipe()\n    held += [r, w]\n"
        "    os.set_blocking(w, False)\n    os.write(w, b'x' * 65536)\n",
        RIGHT | ANY_STOP,
    ),
    "many_files": (
        "for n in range(30000):\n    open(str(n), 'w').close()",
        RIGHT | {"stopped time", "stopped written"},
    ),
    "links": (
        "for n, p in enumerate(({canary!r}, {top!r}, '/')):\n    os.symlink(p, f'l{n}')\n"
        "    for name in ('left-by-mal', 'mine.txt', 'ada.py'):\n        try:\n"
        "            with open(f'l{n}/{name}', 'w') as s:\n                s.write('x')\n"
        "        except OSError:\n            pass",
        RIGHT,
    ),
    "folder_is_a_link": (
        "here = os.getcwd()\nos.rename(here, here + '-away')\nos.symlink({canary!r}, here)",
        RIGHT | ANY_STOP,
    ),
    "hard_links": (
        "for p in ({canary!r} + '/mine.txt', {top!r} + '/ada.py'):\n    try:\n"
        "        os.link(p, 'x')\n        os.chmod('x', 0)\n        open('x', 'w').close()\n"
        "    except OSError:\n        pass",
        RIGHT,
    ),
    "others": (
        "for p in ({canary!r}, {top!r}):\n    for call in (lambda f:"
        " open(f, 'w'), os.unlink, os.rmdir,"
        " lambda f: os.chmod(f, 0), lambda f: os.rename(f, f + 'x')):\n"
        "        for name in ('/mine.txt', '/ada.py', '/zoe.ipynb', ''):\n            try:\n"
        "                call(p + name)\n            except OSError:\n                pass",
        RIGHT,
    ),
    "roots_by_proc": (
        "for p in filter(str.isdecimal, os.listdir('/proc')):\n    for way in ('root', 'cwd'):\n"
        "        for f in ({canary!r} + '/mine.txt', {top!r} + '/ada.py'):\n            try:\n"
        "                with open(f'/proc/{p}/{way}{f}', 'w') as s:\n"
        "                    s.write('x')\n            except OSError:\n                pass",
        RIGHT,
    ),
    "secrets": (
        "seen = [k for k in os.environ if 'SECRET' in k]\n"
        "for p in filter(str.isdecimal, os.listdir('/proc')):\n    try:\n"
        "        seen += [p] * (b'A_SECRET' in open(f'/proc/{p}/environ', 'rb').read())\n"
        "    except OSError:\n        pass\nfor f in ({top!r} +"
        " '/zoe.ipynb', {canary!r} + '/mine.txt'):\n"
        "    try:\n        seen.append(open(f).read()[:9])\n    except OSError:\n        pass\n"
        "try:\n    socket.create_connection(('127.0.0.1', {port}), 1)\n    seen.append('net')\n"
        "except OSError:\n    pass\nif seen:\n    raise ValueError(seen)",
        RIGHT,
    ),
    "limits": (
        "import resource\nfor name in dir(resource):\n    if"
        " name.startswith('RLIMIT_'):\n        try:\n"
        "            resource.setrlimit(getattr(resource, name), (-1, -1))\n"
        "        except (OSError, ValueError):\n            pass\n"
        "held = []\nwhile True:\n    held.append(bytearray(b'x') * (32 << 20))",
        {"stopped memory", "stopped crash"},
    ),
    "namespaces": (
        "libc = ctypes.CDLL(None)\nfor flag in (0x10000000, 0x20000, 0x40000000, 0x20000000):\n"
        "    libc.unshare(flag)\nlibc.mount(b'none', b'/tmp', b'tmpfs', 0, b'')\nlibc.chroot(b'.')",
        RIGHT | ANY_STOP,
    ),
    "unborn": ("os.execv('/bin/sleep', ['sleep', '600'])", {"stopped time"}),
    "quits": ("os._exit(0)", ENDED),
}
