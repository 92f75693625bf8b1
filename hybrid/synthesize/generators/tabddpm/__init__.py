"""TabDDPM of our own on torch (Kotelnikov et al., ICML 2023, arXiv:2209.15421).

It departs from the paper: numbers with few distinct values are learned as categories, the others become normal
scores spread over ties, the network predicts velocities and clean states, categories diffuse to their
frequencies, records are drawn in 50 exact strides, balance each other and are held at shares.
``docs/concepts/tabddpm.md`` says what of this was measured. ``preset: paper`` takes the paper's choices where they are
options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from hybrid.base.arrays import Array
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.protocol import Children, Cost, Encoded, Encoding, Feature, Generator, Model
from hybrid.synthesize.snapshots import refuse_unordered

OF_BOTH_ENGINES = frozenset(
    ("engine", "timesteps", "steps", "epochs", "batch_size", "lr", "weight_decay", "layers", "dropout", "gpu")
)
"""Options that mean the same to both engines; the others are the native one's."""

CHUNK_CELLS = 2**24
"""Rows times states denoised at once: bounds the memory of sampling. Balanced draws balance within a chunk."""


class TabddpmOptions(Options):
    """Options of ``tabddpm``."""

    engine: Literal["native", "synthcity"] = "native"
    """native: our own. synthcity: the plugin ddpm of synthcity 0.2.12, as a reference, in its managed environment;
    it knows engine, timesteps, steps, epochs, batch_size, lr, weight_decay, layers, dropout and gpu."""
    timesteps: int = Field(default=1000, ge=2)
    """Noise levels of the engine synthcity, trained on and all walked through when sampling. The native engine has
    continuous time: see sampling_steps."""
    steps: int = Field(default=4000, ge=1)
    """Optimizer steps, one batch each."""
    epochs: int | None = Field(default=None, ge=1)
    """Passes over the training records; if given, it takes the place of ``steps``."""
    batch_size: int = Field(default=1024, ge=1)
    """Records per step; drawn without replacement within an epoch."""
    lr: float = Field(default=4e-3, gt=0)
    """Learning rate of Adam at the first step."""
    lr_decay: Literal["linear", "none"] = "linear"
    """linear: the learning rate falls to 0 at the last step."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decoupled weight decay (AdamW)."""
    layers: tuple[int, ...] = Field(default=(256, 256, 256), min_length=1)
    """Widths of the hidden layers; residual where two in a row are equal."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of hidden units dropped while training."""
    ema: float = Field(default=0.999, ge=0, lt=1)
    """Decay of the averaged weights, which are the ones sampled from; 0: the last weights. At most step / (step + 9),
    which averages the last tenth of the steps: .999 is reached after 9,000."""
    max_levels: int = Field(default=128, ge=0)
    """Numbers and dates with up to this many distinct values are learned as categories: of these, only values
    that occur come out. 0: never."""
    prior: Literal["marginal", "uniform"] = "marginal"
    """What categories diffuse to: their observed frequencies, or all alike (Hoogeboom et al. 2021)."""
    likelihood: bool = True
    """Multiply the predicted categories by the likelihood of the noisy one, so that the network only has to learn
    what the other columns say."""
    overfit: float | None = Field(default=None, ge=1, le=10)
    """For research on memorization: hold back a tenth of the records and stop when their loss is this many times
    its minimum; 1: take the weights at the minimum. null: no records are held back, all steps are made."""
    snapshots: tuple[Annotated[float, Field(ge=1, le=10)], ...] | None = Field(default=None, min_length=1)
    """Levels of overfit to keep from one training, ascending; overfit is the one of them that is drawn from.
    Configurations that only differ in overfit share the training."""
    sampling_steps: int = Field(default=50, ge=1)
    """Denoising steps per record; 100 were no better than 50 for one model of the Adult table (the paper: 1000)."""
    balanced: bool = True
    """Records drawn together balance each other (systematic sampling), so that shares in the drawn table are closer
    to what the model learned. The distribution of each record by itself is the same; no training record is read."""
    shares: Literal["free", "sampled", "exact"] = "sampled"
    """What the shares of categories are held at while denoising. free: nothing; rare categories then drift towards
    common ones. sampled: what a sample as large as the training table, drawn from it with replacement, had; drawn once
    per model, so that its noise does not average out over many tables. exact: their shares among the training records;
    those of common categories then come out nearly exactly, so an attacker who knows all records but one may infer that
    one's category from them."""
    gpu: bool = True
    """Use a GPU when there is one."""
    max_inputs: int = Field(default=60_000, ge=1)
    """Refuse tables whose columns have more states than this in all."""

    @model_validator(mode="after")
    def _level_is_kept(self) -> Self:
        if self.snapshots is not None:
            refuse_unordered(self.snapshots, self.overfit)
        return self

    @model_validator(mode="after")
    def _known_to_the_engine(self) -> Self:
        if self.engine == "native":
            return self
        fields = type(self).model_fields
        strange = [
            name for name in fields if name not in OF_BOTH_ENGINES and getattr(self, name) != fields[name].default
        ]
        if strange:
            raise ValueError(f"the engine synthcity does not know: {', '.join(strange)}; leave them out")
        if len(set(self.layers)) > 1:
            raise ValueError(f"the engine synthcity has layers of one width only, not {self.layers}")
        return self


SECONDS_PER_WEIGHT = 7e-11
"""Of one step, per record of the batch and weight of the network: Adult, one core."""
SECONDS_PER_STATE = 2e-8
"""The same per state of a discrete column, for the noise and the loss."""


class Tabddpm(Generator):
    """The generator ``tabddpm``."""

    name = "tabddpm"
    title = "diffusion model for tables (Kotelnikov et al. 2023), our own: minutes on a laptop"
    licence = "Apache-2.0 (ours, on torch, BSD-3-Clause)"
    requires = ("torch",)
    extra = "tabddpm"
    environment = "tabddpm"
    resumes = True
    learns_parents = True
    Options = TabddpmOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "quick": {"steps": 1500},
        "paper": {
            "max_levels": 0,
            "prior": "uniform",
            "likelihood": False,
            "balanced": False,
            "shares": "free",
            "sampling_steps": 1000,
            "batch_size": 4096,
            "lr": 1e-3,
            "steps": 30_000,
        },
        "thesis": {"epochs": 1000, "lr": 1e-4, "layers": (256, 256, 256), "dropout": 0.1},
    }

    def encoding(self, options: TabddpmOptions) -> Encoding:
        return Encoding(max_levels=options.max_levels, flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: TabddpmOptions) -> Cost:
        inputs = sum(feature.n_levels for feature in features)
        batch = min(options.batch_size, n_rows)
        steps = options.steps if options.epochs is None else options.epochs * -(-n_rows // batch)
        weights = sum(width**2 for width in options.layers) + options.layers[-1] * (inputs + 1)
        training = steps * (0.004 + batch * (weights * SECONDS_PER_WEIGHT + inputs * SECONDS_PER_STATE))
        per_stride = weights * SECONDS_PER_WEIGHT / 2 + inputs * SECONDS_PER_STATE * 0.8
        sampling = n_rows * options.sampling_steps * per_stride
        drawn = min(n_rows * inputs, CHUNK_CELLS)
        memory = 2**29 + 40 * weights + 32 * (batch * inputs + drawn) + 16 * n_rows * len(features)
        return Cost(training + sampling, memory, inputs, options.max_inputs)

    def learn(
        self,
        data: Encoded,
        options: TabddpmOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,
    ) -> Model:
        """Train; the same seed repeats on a CPU with the same number of threads."""
        from hybrid.synthesize.generators.tabddpm.model import learn_children, learn_model

        about = options, seed, progress, unfinished
        return learn_children(data, *about) if isinstance(data, Children) else learn_model(data, *about)

    def log_odds(self, model: Model, people: Encoded, reference: Encoded, seed: int) -> Array:
        from hybrid.synthesize.generators.tabddpm.inspect import log_odds
        from hybrid.synthesize.generators.tabddpm.model import TabddpmModel

        assert isinstance(model, TabddpmModel)
        return log_odds(model, people, reference, seed)

    def load(self, folder: Path) -> Model:
        from hybrid.synthesize.generators.tabddpm.model import load

        return load(folder)
