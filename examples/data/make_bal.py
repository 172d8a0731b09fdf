"""Makes small.bal, a bundle adjustment problem in the BAL format, with noise of half a pixel.

    python examples/data/make_bal.py > examples/data/small.bal
"""

import math
import random


def rotate(r, x):
    angle = math.sqrt(sum(a * a for a in r))
    if angle == 0.0:
        return list(x)
    w = [a / angle for a in r]
    cross = [w[1] * x[2] - w[2] * x[1], w[2] * x[0] - w[0] * x[2], w[0] * x[1] - w[1] * x[0]]
    along = sum(a * b for a, b in zip(w, x, strict=True)) * (1.0 - math.cos(angle))
    return [x[k] * math.cos(angle) + cross[k] * math.sin(angle) + w[k] * along for k in range(3)]


def project(camera, x):
    p = [a + b for a, b in zip(rotate(camera[:3], x), camera[3:6], strict=True)]
    u, v = -p[0] / p[2], -p[1] / p[2]
    squared = u * u + v * v
    factor = camera[6] * (1.0 + camera[7] * squared + camera[8] * squared * squared)
    return factor * u, factor * v


def main():
    rng = random.Random(22)
    points = [[rng.uniform(-1.0, 1.0) for _ in range(3)] for _ in range(60)]
    cameras = []
    for k in range(6):
        turn = 0.25 * (k - 2.5)
        place = [rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2), -5.0 + rng.uniform(-0.3, 0.3)]
        cameras.append([rng.uniform(-0.1, 0.1), turn, rng.uniform(-0.1, 0.1), *place, 500.0, -0.05, 0.01])
    seen = [(c, p) for p in range(len(points)) for c in range(len(cameras)) if rng.random() < 0.7]
    print(len(cameras), len(points), len(seen))
    for c, p in seen:
        u, v = project(cameras[c], points[p])
        print(c, p, f"{u + rng.gauss(0.0, 0.5):.4f} {v + rng.gauss(0.0, 0.5):.4f}")
    # What is written is where the search begins: near the truth, but not at it.
    for camera in cameras:
        for k, value in enumerate(camera):
            size = [0.02, 0.02, 0.02, 0.05, 0.05, 0.1, 10.0, 0.01, 0.0][k]
            print(f"{value + rng.gauss(0.0, size):.9g}")
    for point in points:
        for value in point:
            print(f"{value + rng.gauss(0.0, 0.05):.9g}")


if __name__ == "__main__":
    main()
