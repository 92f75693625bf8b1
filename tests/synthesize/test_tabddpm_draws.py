"""Balanced random numbers: every record's own distribution is right, the table's noise is less."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.generators
torch = pytest.importorskip("torch", reason="needs the extra [tabddpm]")


def draws(seed: int, balanced: bool):
    from hybrid.synthesize.generators.tabddpm.diffusion import Draws

    return Draws(torch.Generator().manual_seed(seed), balanced)


def test_balanced_uniform_numbers_are_one_per_stratum_in_random_order():
    one, other = draws(1, True).uniform(500), draws(2, True).uniform(500)
    assert torch.equal((one.sort().values * 500).floor(), torch.arange(500.0))
    assert abs(float(torch.corrcoef(torch.stack([one, other]))[0, 1])) < 0.15
    assert abs(float(torch.corrcoef(torch.stack([one, torch.arange(500.0)]))[0, 1])) < 0.15


def test_balanced_normal_numbers_have_the_moments_of_the_normal_distribution():
    numbers = draws(1, True).normal(2000, 3)
    assert torch.allclose(numbers.mean(0), torch.zeros(3), atol=1e-3)
    assert torch.allclose(numbers.std(0), torch.ones(3), atol=5e-3)
    assert torch.allclose(torch.corrcoef(numbers.T), torch.eye(3), atol=0.1)
    assert draws(1, True).normal(4, 0).shape == draws(1, False).normal(4, 0).shape == (4, 0)


@pytest.mark.parametrize("balanced", [False, True])
def test_each_record_moves_with_its_own_probabilities(balanced):
    """Over many seeds, one record among others that differ from it."""
    weights = torch.tensor([[5.0, 3.0, 2.0], [1.0, 0.0, 9.0], [2.0, 6.0, 2.0], [0.5, 0.3, 0.2]])
    here = torch.tensor([[0], [2], [0], [1]])
    counts = torch.zeros(4, 3)
    for seed in range(3000):
        counts += torch.nn.functional.one_hot(draws(seed, balanced).move(weights, here), 3)
    assert torch.allclose(counts / 3000, weights / weights.sum(1, keepdim=True), atol=0.035)
    assert counts[1, 1] == 0


def test_balanced_moves_come_closer_to_the_expected_counts_than_independent_ones():
    rng = torch.Generator().manual_seed(0)
    here = torch.randint(0, 3, (2000, 1), generator=rng)
    weights = 0.05 + torch.rand((2000, 1), generator=rng) * torch.tensor([[0.2, 0.3, 0.5]])
    weights = weights.scatter_add(1, here, torch.full((2000, 1), 3.0))
    expected = (weights / weights.sum(1, keepdim=True)).sum(0)

    def error(balanced: bool) -> float:
        moved = [draws(seed, balanced).move(weights, here) for seed in range(20)]
        return float(torch.stack([(torch.bincount(m, minlength=3) - expected).abs().max() for m in moved]).mean())

    assert error(True) < 0.3 * error(False)


def test_a_single_record_can_be_drawn():
    assert draws(1, True).move(torch.tensor([[0.0, 1.0]]), torch.tensor([[0]])).tolist() == [1]
