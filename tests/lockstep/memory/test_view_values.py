"""Views, whole stores, iteration, records, constants: values as NumPy has them, per thread."""

import numpy as np
import pytest

from .kernels import in_engine, thread_by_thread

VIEWS = """
out[i] = a[3:30][i % 27]
out[i] = a[i:][0]
if i < 6: out[i] = FIXED[i : i + 1][0]
out[i] = a[i // 2 : i + 5][0]
out[i] = a[:: 3][i % 14]
out[i] = a[:: -1][i]
out[i] = a[30 : 4 : -2][i % 13]
out[i] = a[-5:][i % 5]
out[i] = a[: -30][i % 10]
out[i] = a[i % 7 : 39 - i % 5 : 1 + i % 3].size
out[i] = a[39 - i % 5 : i % 7 : -1 - i % 3].shape[0]
out[i] = a[i : i % 3 : -1].size
out[i] = a[i : 100 : 2].size
out[i] = a[i : -100 : -1].size
out[i] = a[i : -100 : -1][i]
out[i] = a[-100 : i].size
out[i] = len(a[i : i + 4])
out[i] = A[i % 6][i % 7]
out[i] = A[i % 6, 1:][2]
out[i] = A[1:4][i % 3, 2]
out[i] = A[1:4, 2::2][i % 3, i % 2]
out[i] = A[:, i % 7][i % 6]
out[i] = A[i % 6, :][i % 7]
out[i] = A[..., i % 7][2]
out[i] = A[i % 6, ...][1]
out[i] = B[1, ..., i % 5][i % 4]
out[i] = B[..., 1:3][i % 3, i % 4, i % 2]
out[i] = B[i % 3][i % 4][i % 5]
out[i] = B[i % 3, 1:][i % 2, 2]
out[i] = B[:, 1, :][i % 3, i % 5]
out[i] = B[::-1, ::2, ::-2][i % 3, i % 2, i % 3]
out[i] = E[1, i % 3, ..., i % 3][i % 2, 1]
out[i] = E[i % 2, 2, 1, 0, i % 3]
out[i] = a[None, :][0, i]
out[i] = a[:, None][i, 0]
out[i] = A[:, None, i % 7][i % 6, 0]
out[i] = A[1:3, np.newaxis, ...][i % 2, 0, i % 7]
out[i] = A.T[i % 7, i % 6]
out[i] = B.T[i % 5, i % 4, i % 3]
out[i] = A.transpose()[i % 7, i % 6]
out[i] = A[1:].T[i % 7, i % 5]
out[i] = a.reshape(5, 8)[i % 5, i % 8]
out[i] = a.reshape((4, -1))[i % 4, i % 10]
out[i] = A.reshape(42)[i]
out[i] = A.reshape(3, 2, 7)[i % 3, i % 2, i % 7]
out[i] = B.reshape(20, 3)[i % 20, i % 3]
out[i] = a.view(np.int32)[i]
out[i] = a.view(np.int16)[i]
out[i] = b.view(np.int64)[i % 32]
out[i] = A.view(np.uint8)[i % 6, i % 28]
out[i] = u[8:72].view(np.int32)[i % 16]
out[i] = u[i % 3 * 4 : 76].view(np.int32)[0]
out[i] = u[i % 3 : i % 3 + 40].view(np.int32)[2]
out[i] = c.view(np.float32)[i % 18]
out[i] = a.view(np.complex64)[i % 20].imag
out[i] = c.real[i % 9] + c.imag[(i + 2) % 9]
out[i] = c[i % 9].real * 2
out[i] = F[i % 5, i % 4]
out[i] = F.T[i % 4, 1:][i % 4]
out[i] = R[i % 12]
out[i] = R[::-2][i % 6]
out[i] = S[i % 3, i % 4]
out[i] = S.T[i % 4][i % 3]
out[i] = o[i % 5, i % 4] + o[1:, ::2][i % 4, i % 2]
out[i] = Z[()]
out[i] = q[i % 8]
out[i] = q[::-1][i % 8] + q[2:][i % 6]
out[i] = h[i % 9]
out[i] = t[i % 9]
out[i] = A.flat[i]
out[i] = A.T.flat[i]
out[i] = S.flat[i % 12]
out[i] = A[1:, ::2].flat[i % 20]
out[i] = a[-1 - i]
out[i] = A[-1 - i % 6, -i % 7]
out[i] = a[np.uint8(i)] + a[np.int16(i)]
out[i] = a[np.uint64(i)]
j = (i % 6, i % 7); out[i] = A[j]
j = (i % 3, i % 4); out[i] = B[j][i % 5] + B[j + (1,)]
k = (3, 1, 4, 1, 5); out[i] = k[i % 5] * 10 + k[-1 - i % 5]
k = (a, a[::2]); out[i] = k[0][i] + k[1][i % 20]
w = slice(2, 9, 3); out[i] = a[w][i % 3]
w = slice(i, i + 2); out[i] = a[w].size
w = A[i % 6]; v = w[2:]; out[i] = v[1] + w.size + v.shape[0] + v.strides[0]
out[i] = A.size + A.ndim + A.itemsize + A.nbytes + A.shape[1] + A.strides[0] + len(A)
out[i] = S.strides[0] + S.strides[1] + R.strides[0] + B.T.strides[2] + q.strides[0] + o.strides[0]
out[i] = y.size + y.shape[1] + len(y) + y[:, 1:].shape[1]
w = A[0] if i % 3 else A[i % 6]; out[i] = w[i % 7]
w = a if i % 3 else R; out[i] = w[i % 12]
w = (a if i % 3 else R)[i % 4 :]; out[i] = w[i % 7] + w.size
w = (A[:4] if i % 3 else F.T[:, :5]).T[i % 5]; out[i] = w[i % 4]
w = (a if i % 3 else R).view(np.int32); out[i] = w[i % 12]
w = (c if i % 3 else c[::-1]).imag; out[i] = w[i % 9]
w = a if i % 3 else R; out[i] = w[:: -2][i % 6] + w[1:5].sum()
w = a[2:] if i % 3 else R[:7]; out[i] = w[i % 7] + w.size
w = A[i % 6] if i % 2 else A[:, i % 7]; out[i] = w[i % 6] + w.shape[0] + w.strides[0]
""".strip().splitlines()

STORES = """
a[i] = i; a[i] += 2; a[i] *= a[i]
A[i % 6][i % 7] = i % 42
A.T[i % 7, i % 6] += i // 42 + 1
B[i % 3, ::2][1, i % 5] = 5
a[2 * i : 2 * i + 2] = i
b[:] = 3
b[i % 3 :: 3] = i % 3
A[i % 6, :] = i % 6
A[:, i % 7] = 2
A[i % 6] = i % 6
A[1:3, 2:4] = 9
B[..., 1] = 4
a[i : i + 1].fill(i)
a[i : i + 2][:] = 4
A.flat[i] = i
a.reshape(8, 5)[i % 8, i // 8] = i
a.view(np.int32)[i] = i
u[4 * (i % 20) : 4 * (i % 20) + 4].view(np.int32)[0] = 1000 + i % 20
c.real[i % 9] = i % 9
c[i % 9] = 1j * (i % 9)
c.imag[i % 9] = 2 + i % 9
F[i % 5, i % 4] = i % 20
R[i % 12] = i % 12
S[i % 3, i % 4] = i % 12
S[1] = 7
Z[()] = 4
h[i % 9] = i % 9; out[i] = h[i % 9]
t[i % 9] = i % 9
q[i % 8] = i % 8
q[1:3] = 5
w = a if i % 2 else R; w[i % 12] = i % 12
w = a if i % 2 else R; w[i % 5 : i % 5 + 2] = 3
w = A[i % 6] if i % 2 else A[0]; w[i % 7] = 1
for x in A: x[i % 7] = 8
for x in r[i : i + 1]: x.n += 1
m = cuda.local.array(6, float32); m[:] = i; m[2] += 1; out[i] = m[i % 6]
m = cuda.local.array((2, 3), int32); m[1] = 4; m[0, :] = i; v = m.T; v[i % 3, 1] += 1; out[i] = v[2, 1] + m[1, i % 3]
m = cuda.local.array(4, float32); m[:] = 1.5; out[i] = m.view(np.int32)[i % 4]
m = cuda.local.array(4, int32); m[:] = 0; w = m.view(np.int16); w[i % 8] = i; out[i] = m[i % 8 // 2]
m = cuda.local.array(2, RECORD); m[0].x = i; m[0].n = 2; m[0].v = 3; m[1] = m[0]; m[1].v += i; out[i] = m[0].v + m[1].x + m[1].n + m[1].v
m = cuda.shared.array(64, int32); w = m[i:]; w[0] = i * 3; out[i] = m[i] + m.reshape(8, 8)[i // 8, i % 8]
m = cuda.shared.array(40, RECORD); m[i].x = i; m[i].v = -i; m[i].n = 1; out[i] = m[i].x + m[i].v * 2 + m[i].n
""".strip().splitlines()  # noqa: E501

SLICE_COPIES = """
a[1:4] = (7, 8, 9)
a[: 7] = A[3]
A[i % 6] = A[i % 6]
A[:, 1] = a[: 6]
A[:] = a[: 7]
A[1:3, 1:] = B[0, 1:3, 0:1]
if i == 0: a[1:] = a[: -1]
A[2:4, ::2] = A[0:2, ::-2]
a[:] = Z
B[1] = b[: 5]
m = cuda.local.array((3, 4), float32); m[:] = A[1:4, i % 3 : i % 3 + 4]; out[i] = m[i % 3, i % 4]
""".strip().splitlines()

LOOPS = """
for x in a: out[i] += x * (i + 1)
for x in A[:, i % 7]: out[i] += x
for x in A: out[i] = out[i] * 3 % 1000 + x[i % 7]
for x in a[i : i + i % 5]: out[i] += x
for x in a[i % 7 : 30 : 2 + i % 3]: out[i] = out[i] * 3 % 1000 + x
for k, x in enumerate(A[i % 6]): out[i] += k * x
for x, z in zip(a, b): out[i] += x * z
for x in A.flat: out[i] = out[i] * 3 % 1000 + x
for x in np.nditer(A): out[i] += x.item()
for k in np.ndindex(3, 4): out[i] = out[i] * 7 % 1000 + B[k][i % 5]
for k in np.ndindex(A.shape): out[i] += A[k] * k[0]
for k, x in np.ndenumerate(A): out[i] += k[0] * 10 + k[1] * x
for x in FIXED: out[i] += x * i
for x in r: out[i] += x.v * x.n
for x in r["n"]: out[i] += x
for x in y: out[i] += 1
for x in t: out[i] = out[i] * 2 + x
out[i] = a[: i].sum()
out[i] = A.sum() + a.sum() * i
out[i] = a[i : i + 3].prod()
out[i] = A[i % 6].argmax() * 10 + A[:, i % 7].argmin()
out[i] = np.argmax(B) + b.argmin()
out[i] = t.any() * 2 + t[i % 9 : i % 9 + 1].all()
out[i] = np.sum(A[i % 6]) + b.mean()
out[i] = max(b[: i + 1]) - min(b[: i + 1])
out[i] = np.count_nonzero(b[i:])
if i % 9 in FIXED: out[i] = 1
if i - 20 not in b: out[i] = 1
""".strip().splitlines()

RECORDS = """
out[i] = r[i % 8].x + r[i % 8]["n"]
out[i] = r.x[i % 8] + r["v"][i % 8]
out[i] = r[2:][i % 6].v + r["x"][::-1][i % 8]
w = r[i % 8]; out[i] = w.x * w.v + w.n
r[i % 8].n = i % 8
r[i % 8]["x"] = i % 8
if i < 8: r[i].v += 2
w = r[i % 8]; w.x = w.x * 0 + i % 8
r["x"][i % 8] = i % 8
if i < 8: r.n[i] += 1
r[i % 8].x, r[i % 8].n = i % 8, 7
r[i % 4 + 4] = r[i % 4]
w = r[i % 4]; r[7 - i % 4] = w
w = r[1] if i % 2 else r[i % 8]; out[i] = w.x + w.v; w.n = 3
w = r[0] if i % 2 else r[5]; w.v = i % 2
m = cuda.local.array(2, RECORD); m[1] = r[i % 8]; w = m[1] if i % 2 else r[0]; out[i] = w.v
m = cuda.local.array(2, RECORD); m[0] = r[7]; m[1] = m[0] if i % 2 else r[i % 8]; out[i] = m[1].v
m = cuda.local.array(2, RECORD); w = m[1] if i % 2 else r[i % 8]; w.v = i % 8; out[i] = w.v
r[0:3] = r[5]
out[i] = s[i % 5].m[i % 3] + s[i % 5]["m"][0]
s[i % 5].m[i % 3] = i % 15
s[i % 5].m[1:] = 6
out[i] = s["m"][i % 5, i % 3]
s["m"][i % 5, 1:] = i % 5
out[i] = s[i % 5].inner.p + s[i % 5].inner.q
s[i % 5].inner.q = i % 5
s[i % 5]["inner"]["p"] = i % 5
out[i] = s["inner"][i % 5].q + s["inner"]["q"][i % 5]
out[i] = s[i % 5].c.imag
out[i] = p["x"][i % 8] + p.a[i % 8] + p["w"][i % 8]
p["x"][i % 8] = i % 8
if i < 8: p["w"][i] += 0.5
p[i % 4] = p[7 - i % 4]
out[i] = r[i % 8][0] + r[i % 8][1]
out[i] = len(r) + r.size + r.itemsize + r["n"].strides[0]
""".strip().splitlines()

CONSTANTS = """
out[i] = FIXED[i % 6]
out[i] = TABLE[i % 3, i % 4] + TABLE[i % 3][1]
out[i] = TABLE.T[i % 4, i % 3] + TABLE[1:, ::2][i % 2, i % 2]
out[i] = FIXED[2:].sum() + FIXED.size + len(TABLE)
out[i] = PAIR[0][i % 4] + PAIR[1][i % 3, 1]
w = cuda.const.array_like(FIXED); out[i] = w[i % 6]
w = cuda.const.array_like(TABLE); out[i] = w[i % 3, i % 4]
w = TABLE.reshape(12); out[i] = w[i % 12]
w = FIXED if i % 2 else FIXED[::-1]; out[i] = w[i % 6]
out[i] = FIXED[-1 - i % 6]
""".strip().splitlines()

TYPED = VIEWS + STORES + LOOPS + RECORDS + CONSTANTS


def compared(body, typed):
    text = "\n".join(part.strip() for part in body.split("; "))
    ours, theirs = in_engine(text, typed=typed), thread_by_thread(text)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


@pytest.mark.first(80)
@pytest.mark.parametrize("body", TYPED)
def test_values(body):
    """What Numba accepts: the values of NumPy's arrays, thread by thread."""
    compared(body, typed=True)


@pytest.mark.parametrize("body", SLICE_COPIES)
def test_arrays_stored_through_slices(body):
    """Arrays into slices, as Numba does it where it has memory to allocate."""
    compared(body, typed=False)
