"""An element-level function inside a model of PyTorch."""

import sys

import cotan as ct

try:
    import torch
except ImportError:
    print("skipped: torch is not installed")
    sys.exit()

from cotan.interop.torch import wrap


def potential(x):
    """Pairs of points that repel each other: no array of pairs is ever stored."""
    n = len(x)
    pair = lambda i, j: ct.where(i < j, 1.0 / (0.1 + ((x[i] - x[j]) ** 2).sum()), 0.0)
    return ct.build((n, n), pair).sum()


def main() -> None:
    torch.manual_seed(0)
    x = torch.randn(20, 2, dtype=torch.float64, requires_grad=True)
    energy = wrap(potential)(x)
    (2.0 * energy).backward()
    expected = 2.0 * ct.grad(potential)(x.detach().numpy())
    assert torch.allclose(x.grad, torch.from_numpy(expected))
    assert torch.autograd.gradcheck(wrap(potential), (x,))
    print(f"energy {energy.item():.4f}, gradient as PyTorch's differences say")


if __name__ == "__main__":
    main()
