"""Rays: spheres, signed distances, named tuples as vectors."""

import math
from collections import namedtuple

import numpy as np
from numba import cuda, float32

from tests.foreign.cases import blocks, case, close, equal

Vec = namedtuple("Vec", "x y z")


@cuda.jit(device=True)
def add(a, b):
    return Vec(a.x + b.x, a.y + b.y, a.z + b.z)


@cuda.jit(device=True)
def scaled(a, s):
    return Vec(a.x * s, a.y * s, a.z * s)


@cuda.jit(device=True)
def dot(a, b):
    return a.x * b.x + a.y * b.y + a.z * b.z


@cuda.jit(device=True)
def normalised(a):
    return scaled(a, float32(1) / math.sqrt(dot(a, a)))


def sphere(cx, cy, cz, radius):
    """A device function for the distance to a sphere."""
    cx, cy, cz, radius = map(np.float32, (cx, cy, cz, radius))

    @cuda.jit(device=True)
    def distance(p):
        d = Vec(p.x - cx, p.y - cy, p.z - cz)
        return math.sqrt(dot(d, d)) - radius

    return distance


def union(first, second):
    """A device function for the distance to the nearer of two bodies."""

    @cuda.jit(device=True)
    def distance(p):
        return min(first(p), second(p))

    return distance


def marcher(scene):
    """A kernel that marches rays through a scene."""

    @cuda.jit
    def march(image, steps, far):
        x, y = cuda.grid(2)
        h, w = image.shape
        if x >= w or y >= h:
            return
        u = float32(2 * x - w) / float32(w)
        v = float32(2 * y - h) / float32(h)
        ray = normalised(Vec(u, v, float32(1)))
        t = float32(0)
        for _ in range(steps):
            d = scene(scaled(ray, t))
            if d < float32(1e-3):
                break
            t += d
            if t > far:
                t = float32(-1)
                break
        image[y, x] = t

    return march


# A ray's last step is below 1e-3, and how many steps it takes turns on the last bit there.
@case((11, 40), (9, 33))
def ray_marching(run, shape):
    """Two spheres, composed of closures; against the solution of the quadratic equation."""
    bodies = ((0, 0, 4, 1.5), (1.5, 0.5, 3, 0.5))
    scene = union(sphere(*bodies[0]), sphere(*bodies[1]))
    image = np.zeros(shape, np.float32)
    run(marcher(scene))[(blocks(shape[1], 32), blocks(shape[0], 4)), (32, 4)](
        image, 100, np.float32(20)
    )
    h, w = shape
    v, u = np.meshgrid((2 * np.arange(h) - h) / h, (2 * np.arange(w) - w) / w, indexing="ij")
    ray = np.stack((u, v, np.ones(shape)), -1)
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    want, grazing = np.full(shape, np.inf), np.zeros(shape, bool)
    for *centre, radius in bodies:
        b = ray @ centre
        root = b * b - (np.dot(centre, centre) - radius**2)
        grazing |= abs(root) < 0.02
        with np.errstate(invalid="ignore"):
            want = np.minimum(want, np.where(root >= 0, b - np.sqrt(root), np.inf))
    want[np.isinf(want)] = -1
    close(image[~grazing], want[~grazing], 0, 0.01)
    assert (~grazing).sum() > 0.9 * image.size


@cuda.jit
def shade(image, spheres, light):
    x, y = cuda.grid(2)
    if x >= image.shape[1] or y >= image.shape[0]:
        return
    best, nearest = np.int32(0x7FFFFFFF), -1
    for k in range(len(spheres)):
        cx, cy, cz, r = spheres[k]
        dx, dy = x - cx, y - cy
        if dx * dx + dy * dy <= r * r and cz < best:
            best, nearest = cz, k
    colour = (0, 0, 0)
    if nearest >= 0:
        lit = light.x * (x - spheres[nearest][0]) + light.y * (y - spheres[nearest][1])
        colour = (nearest + 1, best, max(lit, 0))
    for c, value in enumerate(colour):
        image[y, x, c] = value


# Three integers per pixel, stored one after the other: 12 bytes from lane to lane.
@case((13, 40), (8, 33), finds="uncoalesced")
def orthographic_spheres(run, shape):
    """A tuple of tuples as the scene, a named tuple as the light, enumerate over a tuple."""
    spheres = ((10, 5, 9, 4), (30, 6, 7, 5), (13, 4, 3, 2))
    image = np.zeros((*shape, 3), np.int32)
    run(shade)[(blocks(shape[1], 32), blocks(shape[0], 4)), (32, 4)](image, spheres, Vec(2, -1, 0))
    for y in range(shape[0]):
        for x in range(shape[1]):
            hit = [
                (z, k)
                for k, (a, b, z, r) in enumerate(spheres)
                if (x - a) ** 2 + (y - b) ** 2 <= r * r
            ]
            want = (0, 0, 0)
            if hit:
                z, k = min(hit)
                want = (k + 1, z, max(2 * (x - spheres[k][0]) - (y - spheres[k][1]), 0))
            equal(image[y, x], want)
