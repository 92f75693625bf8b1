"""Our own TabDDPM, trained for real on tables small enough for seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import GeneratorError
from hybrid.synthesize import REGISTRY, FittedGenerator, SynthesizeOptions, fit
from hybrid.table import Kind, Table
from tests.synthesize.synthesize_tables import people, table_of

pytestmark = pytest.mark.generators
torch = pytest.importorskip("torch", reason="needs the extra [tabddpm]")


@pytest.fixture(autouse=True)
def one_thread():
    """Small networks are faster so, and repeat on any machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def options(**own: object) -> SynthesizeOptions:
    small = {"steps": 20, "batch_size": 64, "layers": (32, 32), "sampling_steps": 10}
    return SynthesizeOptions(generator="tabddpm", isolate=False, options={**small, **own})


def test_what_goes_in_comes_out_and_the_loss_is_told():
    table = people(300)
    seen = []
    before = torch.get_rng_state()
    fitted = fit(
        table, options(steps=120), 1, lambda step, done, total=None, **values: seen.append((done, total, values))
    )
    synthetic = fitted.sample(123, 5)
    assert synthetic.schema == table.schema
    assert (synthetic.frame.dtypes == table.frame.dtypes).all()
    assert len(synthetic) == 123
    assert [(done, total) for done, total, _ in seen] == [(50, 120), (100, 120), (120, 120)]
    assert np.isfinite(seen[-1][2]["loss"])
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("prior", ["marginal", "uniform"])
@pytest.mark.parametrize("strides", [1, 3, 25])
@pytest.mark.parametrize("balanced", [False, True])
def test_denoising_by_exact_strides_reaches_the_marginals(prior, strides, balanced):
    """An untrained network knows the marginals exactly; whatever noise one starts from, they must come out."""
    from hybrid.synthesize.generators.tabddpm.diffusion import Denoiser, Diffusion, Draws

    frequencies = torch.tensor([0.7, 0.2, 0.1, 0.05, 0.95])
    priors = {"marginal": frequencies, "uniform": torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.5, 0.5])}
    network = Denoiser(torch.log(frequencies), 1, (8,), 0.0).eval()
    diffusion = Diffusion([3, 2], priors[prior], likelihood=True)
    draws = Draws(torch.Generator().manual_seed(0), balanced)
    states, numbers = diffusion.draw(network, 40_000, 1, strides, draws)
    reached = torch.bincount(states.flatten(), minlength=5) / len(states)
    assert torch.allclose(reached, frequencies, atol=0.002 if balanced else 0.012)
    both = torch.bincount(states[:, 0] * 2 + states[:, 1] - 3, minlength=6).reshape(3, 2) / len(states)
    assert torch.allclose(both, frequencies[:3, None] * frequencies[None, 3:], atol=0.012)
    if strides == 25:
        assert float(numbers.std()) == pytest.approx(1, abs=0.01)


def test_states_survive_as_often_as_the_schedule_says():
    from hybrid.synthesize.generators.tabddpm.diffusion import Diffusion, keep

    prior = torch.tensor([0.25, 0.25, 0.5])
    time = torch.full((50_000,), 0.4)
    states = torch.zeros((50_000, 1), dtype=torch.int64)
    noisy = Diffusion([3], prior, likelihood=True).noisy_states(states, time, torch.Generator().manual_seed(0))
    kept = float(keep(torch.tensor(0.4)))
    assert float((noisy == 0).float().mean()) == pytest.approx(kept + (1 - kept) * 0.25, abs=0.01)


def test_schedules_by_hand():
    """Cosine schedule: cos(t * 90 degrees) squared."""
    from hybrid.synthesize.generators.tabddpm import TabddpmOptions
    from hybrid.synthesize.generators.tabddpm.diffusion import keep
    from hybrid.synthesize.generators.tabddpm.train import rate_at

    assert keep(torch.tensor([0.0, 1 / 3, 0.5, 1.0])).tolist() == pytest.approx([1, 0.75, 0.5, 0], abs=1e-6)
    falling, constant = TabddpmOptions(lr=0.008, lr_decay="linear"), TabddpmOptions(lr=0.008, lr_decay="none")
    assert [rate_at(falling, done) for done in (0, 0.25, 1)] == pytest.approx([0.008, 0.006, 0])
    assert rate_at(constant, 0.25) == 0.008


def test_seeds_repeat_and_models_survive_a_file(tmp_path):
    table = people(200)
    one, two = (fit(table, options(), 7) for _ in range(2))
    rows = one.sample(50, 3).frame
    pd.testing.assert_frame_equal(rows, two.sample(50, 3).frame)
    assert not rows.equals(one.sample(50, 4).frame)
    one.model.save(tmp_path)
    loaded = FittedGenerator("tabddpm", one.codec, REGISTRY["tabddpm"].load(tmp_path))
    pd.testing.assert_frame_equal(rows, loaded.sample(50, 3).frame)


@pytest.mark.parametrize(
    "columns", [["age"], ["job"], ["cost", "children", "empty"]], ids=lambda names: "+".join(names)
)
@pytest.mark.parametrize("max_levels", [0, 128])
def test_three_rows_of_few_columns(columns, max_levels):
    table = people(60, seed=2).only(columns).take(np.array([0, 1, 2]))
    assert len(fit(table, options(max_levels=max_levels), 1).sample(20, 1)) == 20


def test_it_learns_what_depends_on_what():
    table = people(3000)
    own = options(steps=1200, batch_size=256, layers=(128, 128), sampling_steps=30, lr=4e-3)
    frame = fit(table, own, 1).sample(3000, 1).frame
    old = frame["age"] > 66
    assert (frame.loc[old, "job"] == "retired").mean() > 0.85
    assert (frame.loc[~old, "job"] == "retired").mean() < 0.1
    smith = frame["job"] == "smith"
    assert frame["cost"].isna()[smith].mean() > 3 * frame["cost"].isna()[~smith].mean()
    logs = np.log(frame["cost"]).groupby(frame["ill"]).mean()
    assert logs[True] - logs[False] > 1
    assert (frame.isna().mean() - table.frame.isna().mean()).abs().max() < 0.05


def test_the_choices_of_the_paper_train_too():
    own = options(max_levels=0, prior="uniform", likelihood=False, dropout=0.1, lr_decay="none", ema=0.0, epochs=2)
    assert len(fit(people(200), own, 1).sample(40, 1)) == 40


def test_a_learning_rate_that_explodes_is_an_error_with_advice():
    with pytest.raises(GeneratorError, match=r"no number any more .* smaller learning rate"):
        fit(people(200), options(lr=1e18, steps=200, lr_decay="none"), 1)


def test_a_table_too_wide_is_refused_by_column_name():
    table = table_of({"code": (Kind.CATEGORICAL, pd.Series(np.arange(500).astype(str)))})
    with pytest.raises(GeneratorError, match=r"500 inputs .*'code' \(500 states\)"):
        fit(table, options(max_inputs=100), 1)


def test_a_category_with_20000_values():
    codes = pd.Series(np.arange(20_000).astype(str))
    table = table_of({"code": (Kind.CATEGORICAL, codes), "age": (Kind.INTEGER, np.arange(20_000) % 90)})
    assert isinstance(fit(table, options(steps=3, sampling_steps=3), 1).sample(100, 1), Table)


def test_overfitting_on_purpose_stops_at_the_ratio_asked_for():
    table = people(120).only(["age", "job", "children", "ill"])
    seen = []
    own = options(steps=3000, batch_size=108, layers=(128, 128), lr=5e-3, lr_decay="none", overfit=1.1)
    tell = lambda step, done, total=None, **values: seen.append((done, values["eval_loss"]))  # noqa: E731
    model = fit(table, own, 1, tell)
    lowest = min(loss for _, loss in seen)
    assert seen[-1][0] < 3000
    assert seen[-1][1] >= 1.1 * lowest
    assert all(loss < 1.1 * min(earlier for _, earlier in seen[: at + 1]) for at, (_, loss) in enumerate(seen[:-1]))
    pd.testing.assert_frame_equal(model.sample(50, 1).frame, fit(table, own, 1).sample(50, 1).frame)


def test_one_training_keeps_every_level_of_overfitting(tmp_path):
    table, keep = people(120).only(["age", "job", "children", "ill"]), (1, 1.02, 1.05)
    own = {"steps": 3000, "batch_size": 108, "layers": (64, 64), "lr": 5e-3, "lr_decay": "none", "sampling_steps": 5}
    whole = fit(table, options(**own, overfit=1, snapshots=keep), 1, all_levels=True)
    drawn = [whole.at(level).sample(40, 1).frame for level in ("1", "1.02", "1.05")]
    assert not drawn[0].equals(drawn[1]) and not drawn[1].equals(drawn[2])
    # The training is the one without snapshots: its weights at the level are these.
    alone = fit(table, options(**own, overfit=1.02), 1).sample(40, 1).frame
    pd.testing.assert_frame_equal(drawn[1], alone)
    whole.model.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "1.02", "1.05"]
    loaded = FittedGenerator("tabddpm", whole.codec, REGISTRY["tabddpm"].load(tmp_path / "1.02"))
    pd.testing.assert_frame_equal(loaded.sample(40, 1).frame, drawn[1])
    with pytest.raises(ValueError, match="one of the snapshots"):
        options(overfit=1.5, snapshots=keep)
    with pytest.raises(ValueError, match="must rise"):
        options(overfit=1, snapshots=(1.1, 1))


def test_overfitting_that_is_not_reached_is_an_error_and_one_takes_the_minimum():
    table = people(100).only(["age", "job"])
    with pytest.raises(GeneratorError, match="not 5"):
        fit(table, options(overfit=5), 1)
    assert len(fit(table, options(overfit=1), 1).sample(10, 1)) == 10


def test_an_interrupt_ends_the_training():
    def interrupt(step, done, total=None, **values):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(people(100), options(), 1, interrupt)


def test_held_shares_correct_a_network_that_is_wrong_about_them():
    from hybrid.synthesize.generators.tabddpm.diffusion import Denoiser, Diffusion, Draws

    shares, believed = torch.tensor([0.7, 0.2, 0.1, 0.05, 0.95]), torch.tensor([0.6, 0.2, 0.2, 0.1, 0.9])
    network = Denoiser(torch.log(believed), 0, (8,), 0.0).eval()

    def gap(held: bool) -> float:
        diffusion = Diffusion([3, 2], shares, likelihood=True, shares=shares if held else None)
        states, _ = diffusion.draw(network, 20_000, 0, 20, Draws(torch.Generator().manual_seed(0), balanced=True))
        return float((torch.bincount(states.flatten(), minlength=5) / len(states) - shares).abs().max())

    assert gap(held=True) < 0.4 * gap(held=False)


def test_a_single_record_is_hardly_held_to_the_shares():
    """Held strictly, it would forget what it is."""
    from hybrid.synthesize.generators.tabddpm.diffusion import Diffusion

    shares = torch.tensor([0.7, 0.3])
    sure = torch.tensor([[-8.0, 8.0]])
    held = Diffusion([2], shares, likelihood=True, shares=shares)._held(sure, shares)
    assert float(torch.softmax(held, 1)[0, 1]) > 0.999


def test_sampled_shares_are_those_of_one_bootstrap_per_model():
    """As noisy as the shares among so many independent records, and the same in every table that the model draws."""
    table = people(400)
    models = [fit(table, options(steps=1), seed).model for seed in range(40)]
    exact, sampled = models[0].frequencies, torch.stack([model.sampled for model in models])
    assert all(torch.equal(model.frequencies, exact) for model in models)
    noise = (sampled - exact) / torch.sqrt(exact * (1 - exact) / len(table)).clamp(min=1e-9)
    common = exact.gt(0.02) & exact.lt(0.98)
    assert common.any()
    assert float(noise[:, common].std()) == pytest.approx(1, abs=0.1)
    assert float(noise[:, common].mean()) == pytest.approx(0, abs=0.1)


def test_drawn_tables_follow_the_held_shares_of_their_model():
    """Not those among the training records, which everybody who knows the others would solve for."""
    table = people(2000)

    def followed(shares: str) -> float:
        """How much of the sample's noise the drawn tables repeat: 1 all, 0 nothing."""
        noise, drawn = [], []
        for seed in range(8):
            model = fit(table, options(steps=1, shares=shares, sampling_steps=25), seed).model
            columns = zip(model.draw(2000, seed).rows, model.levels, strict=True)
            counts = [np.bincount(column, minlength=size) for column, size in columns if size]
            common = model.frequencies > 0.05
            noise.append((model.sampled - model.frequencies)[common].numpy())
            drawn.append((np.concatenate(counts) / 2000 - model.frequencies.numpy())[common.numpy()])
        x, y = np.concatenate(noise), np.concatenate(drawn)
        return float(x @ y / (x @ x))

    assert 0.45 < followed("sampled") < 1.1
    assert abs(followed("exact")) < 0.2
