"""Training of the contrastive encoder: the same network as with NumPy, and it learns."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.evaluation import Measure
from hybrid.evaluation.options import EncoderOptions
from hybrid.lab.encoder.embed import trained, without_training
from hybrid.lab.encoder.network import inputs_of, random_masks, untrained
from tests.lab.encoder_tables import context_of, found, options, people

pytestmark = pytest.mark.generators


def test_torch_and_numpy_compute_the_same_points() -> None:
    from hybrid.lab.encoder.train import _tensors, _Weights, contrast

    context = context_of(*people())
    table = context.encoded("table")
    inputs = inputs_of(context.encoding, table)
    network = untrained(inputs, EncoderOptions(width=32), 1)
    coded = inputs.code(table, random_masks(*table.ranks.shape, np.random.default_rng(1)))
    points = _Weights(network).points(*_tensors(coded)).detach().numpy()
    assert points == pytest.approx(network.points(coded), abs=1e-5)

    import torch

    from hybrid.lab.encoder.embed import loss

    pair = [torch.tensor(network.points(coded.take(np.arange(start, start + 9)))) for start in (0, 9)]
    assert float(contrast(pair, 0.2)) == pytest.approx(loss((pair[0] @ pair[1].T).numpy(), 0.2))


def test_training_recognizes_records_and_repeats_with_its_seed() -> None:
    tables = people(400)
    chosen = options("contrastive", encoders=2, epochs=15)
    first, second = trained(context_of(*tables, chosen))
    random = without_training(context_of(*tables, chosen))
    for embedding in (first, second):
        assert embedding.check.loss < random.check.loss - 0.3
    again = trained(context_of(*tables, chosen))[0]
    weights = zip(first.encoder.network.weights, again.encoder.network.weights, strict=True)
    assert all((mine == other).all() for mine, other in weights)
    assert (first.encoder.network.weights[0] != second.encoder.network.weights[0]).any()


def test_trained_encoders_are_averaged_with_an_untrained_one_beside() -> None:
    train, control, _ = people()
    chosen = options("contrastive", encoders=2, epochs=2).model_copy(
        update={"metrics": ("cl_linkability", "cl_dcr_share", "cl_singling_out")}
    )
    for metric in found(train, control, train, chosen).metrics:
        assert isinstance(metric.outcome, Measure), metric
        details = metric.outcome.details
        each = [one["value"] for one in details["each"]]
        assert metric.outcome.value == pytest.approx(np.mean(each))
        assert details["spread"] == pytest.approx(max(each) - min(each))
        assert details["encoder"]["encoders"] == 2
        beside = details["untrained"]
        assert beside["gain"][0] == pytest.approx(metric.outcome.value - beside["value"])
        assert beside["gain"][1] <= 0 <= beside["gain"][2]
