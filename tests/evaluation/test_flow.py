"""Neural densities, and the membership attack with them."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure
from hybrid.evaluation.attacks import membership_flow
from hybrid.evaluation.context import Context
from tests.evaluation.simulated_people import make_people

pytestmark = pytest.mark.generators


def test_a_flow_is_a_density_of_its_own_and_earlier_columns() -> None:
    import torch

    torch.manual_seed(1)
    model = membership_flow.flow(2)
    line = torch.linspace(-12, 12, 121)
    points = torch.cartesian_prod(line, line)
    with torch.no_grad():
        total = float(model(points).exp().sum()) * 0.2**2
    assert 0.0 < total <= 1.01  # what lies beyond the tanh layers' range has no density
    x = torch.randn(5, 2, requires_grad=True)
    blocks = model.blocks
    y, _ = blocks[0](x, x.new_zeros(5, 2, 1))
    first = torch.autograd.grad(y[:, : membership_flow.WIDTH].sum(), x)[0]
    assert (first[:, 0] != 0).all() and (first[:, 1] == 0).all()


def test_the_slope_is_that_of_the_flow() -> None:
    import torch

    torch.manual_seed(2)
    model = membership_flow.flow(1)
    x = torch.linspace(-2, 2, 9).reshape(-1, 1).requires_grad_()
    slope = x.new_zeros(9, 1, 1)
    y = x
    for at, block in enumerate(model.blocks):
        if at:
            bent = -2 * (y - np.log(2) + torch.nn.functional.softplus(-2 * y))
            y, slope = y.tanh(), slope + bent.view(slope.shape)
        y, slope = block(y, slope)
    by_hand = torch.autograd.grad(y.sum(), x)[0]
    torch.testing.assert_close(slope.reshape(-1).exp(), by_hand.reshape(-1), rtol=1e-4, atol=1e-6)


def test_members_have_a_higher_density_in_a_copy_than_in_a_fresh_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership_flow, "EPOCHS", 25)
    rng = np.random.default_rng(3)
    train, control, fresh = (make_people(150, rng) for _ in range(3))
    values = []
    for table in (train, fresh):
        outcome = REGISTRY["membership_flow"].measure(Context(train, control, table, EvaluateOptions(), 1)).outcome
        assert isinstance(outcome, Measure) and outcome.low is not None
        values.append(outcome)
    assert values[0].value > values[1].value
    assert values[0].low > 0.5 and values[1].low <= 0.5
