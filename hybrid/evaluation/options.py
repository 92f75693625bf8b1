"""Options of the evaluation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hybrid.base.options import Options
from hybrid.evaluation.measure import Family

EVERY = "all"
"""In ``evaluate.also``: every default metric."""
COMPARED_ROWS = 50_000
"""Rows of a table above which configurations are written without the tables that only comparisons need."""
TORCH_HINT = "pip install 'hybrid-release[tabddpm]', which brings it, or evaluate.encoder.engine: untrained"
"""What to do where an encoder cannot be trained."""


class RetrainOptions(Options):
    """Attacks that train the generator repeatedly, and so measure the effect of one person."""

    stages: tuple[Literal["synthetic", "baseline"], ...] = ("synthetic",)
    """Whose making is repeated: the whole way from records to the synthetic table, or the generator alone."""
    canaries: int = Field(default=100, ge=10, le=100_000)
    """Records per secret whose secret is replaced before training (thesis, section 4.2: 100)."""
    together: int = Field(default=1, ge=1, le=1000)
    """Canaries in one training. 1 is the thesis's attack; more cost less and may disturb each other."""
    records: int = Field(default=10, ge=1, le=1000)
    """Training records whose membership is attacked by shadow models."""
    targets: Literal["vulnerable", "random", "rare", "unlikely"] = "vulnerable"
    """Which ones: those least like others (Meeus et al. 2023), any, those with the most rare values, or those with the
    least likely combination of values taken one by one."""
    distance: Literal["cosine", "hamming", "chebyshev", "size", "isolation"] | Annotated[float, Field(ge=1, le=100)] = (
        "cosine"
    )
    """Distance by which people are least like others. cosine: that of Meeus et al. 2023; hamming: columns that differ;
    chebyshev: the largest difference of a column; a number p: Minkowski's of order p (1: Gower's). Numbers count as
    their share of the range, categories as 0 or 1. No distances, and without neighbours: size, the mean rank of all
    numbers; isolation, an isolation forest. A cosine does not see the people with the largest amounts."""
    neighbours: int = Field(default=5, ge=1, le=100)
    """Nearest others whose mean distance says how little a person is like others."""
    ordinal: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Categorical columns whose values have an order, each with all its values from the lowest to the highest: these
    attacks take them for numbers."""
    shadows: int = Field(default=100, ge=10, le=100_000)
    """Trainings on the attacker's own data (control), to learn the attack from. Their tables are kept in memory."""
    tests: int = Field(default=50, ge=10, le=100_000)
    """Trainings on training data, to try the attack on."""
    bagging: int = Field(default=100, ge=10, le=100_000)
    """Half the trainings on samples of control drawn with replacement, for `bagging_membership`: with and without each
    record."""
    rows: int = Field(default=1000, ge=50)
    """Records in each training (Meeus et al. 2023: 1,000); fewer where there are fewer."""
    drawn: float | None = Field(default=None, gt=0, le=100)
    """Rows drawn from each training, as a multiple of its records. Not given: as the configuration says."""
    pool: int = Field(default=10_000, ge=100)
    """Training people of whom `membership_trained` trains on random halves; all where there are fewer."""
    share: float = Field(default=0.01, gt=0, le=0.5)
    """Share of the pool whom `membership_trained` attacks, those least like others: at least 80, or a quarter of a
    small pool. Beside them random others are attacked: 400 of 10,000, up to 2,000 of a smaller pool."""
    halves: int = Field(default=128, ge=20, le=100_000)
    """Trainings on random halves of the pool, at most."""
    looks: int = Field(default=3, ge=1, le=20)
    """How often it is asked whether the trainings so far decide, each time after twice as many. The intervals of all
    looks hold together."""
    exposed_limits: tuple[float, ...] = (0.6, 0.75)
    """AUC of the most exposed at which verdicts differ. Trainings end once neither lies within the interval, nor one of
    `random_limits` within that of random people. They are those of the packaged policies; none: trainings end at the
    first look."""
    random_limits: tuple[float, ...] = (0.56, 0.66)
    """AUC of random people at which verdicts differ."""
    seconds: float | None = Field(default=None, gt=0)
    """Time for the trainings of one attack; what was trained by then is judged. Not given: all of them."""


class EncoderOptions(Options):
    """Network that turns records into points, for the metrics `cl_*`.

    The published settings are width 1024, categories 10, epochs 300 and encoders 1; batch and rate are the defaults.
    """

    engine: Literal["contrastive", "untrained"] = "contrastive"
    """contrastive: trained on the judged table alone, which needs torch; untrained: the same network with random
    weights, which costs next to nothing. A trained one is always accompanied by an untrained one in the details."""
    encoders: int = Field(default=3, ge=1, le=20)
    """Networks that are trained from different random weights; a metric is the mean over them. Of untrained ones there
    is one."""
    width: int = Field(default=256, ge=8, le=4096)
    """Units of each of the three hidden layers."""
    dimensions: int | None = Field(default=None, ge=2, le=64)
    """Dimensions of a point. Not given: two thirds of the number of columns, at least 8 and at most 30."""
    categories: int | None = Field(default=None, ge=1, le=64)
    """Numbers that stand for one category. Not given: half the number of the column's categories, 2 to 16."""
    temperature: float = Field(default=0.1, gt=0, le=10)
    """tau by which similarities are divided in the loss; not given in the papers."""
    rate: float = Field(default=1e-3, gt=0, lt=1)
    """Learning rate (Adam)."""
    batch: int = Field(default=1024, ge=8)
    """Records that are told apart at once."""
    epochs: int = Field(default=60, ge=1)
    """Most passes over the table."""
    patience: int = Field(default=10, ge=1)
    """Passes without a smaller loss on the tenth held back, after which training ends."""
    bins: int = Field(default=50, ge=2, le=10_000)
    """Intervals of equal width that predicates of `cl_singling_out` cut a number's range into; not given in the
    papers."""


class RegisterOptions(Options):
    """Register: a table of people that an attacker may hold, such as a list of voters or members."""

    path: str
    """Path of the table, relative to the config file; it writes values as the data does."""
    columns: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Columns in which rows are compared with entries. Not given: all that both have, without identifiers."""


class PrivacyScoreOptions(Options):
    """Instance privacy score, metric `privacy_score`."""

    percentile: float = Field(default=2.0, gt=0, lt=100)
    """Radius around a row: this percentile of the distances of training records to the nearest control record."""
    by: str | None = None
    """A column whose categories have a radius each, where at least ``min_cell`` training records hold them; rare people
    lie farther apart. Not given: one radius for all rows."""


class EvaluateOptions(Options):
    """Metrics to compute and effort of the attacks."""

    targets: tuple[str, ...] | None = None
    """Columns that users will predict from the rest (TSTR). Not given: the columns with target: true."""
    secrets: tuple[str, ...] | None = None
    """Columns an attacker wants to infer. Not given: the sensitive columns; if there are none, every column."""
    baseline: bool = True
    """Whether the same generator is also trained on the original rows, as the stage "baseline". Only comparisons need
    it: a night does without, where no rule of the policy is about it."""
    original: bool = True
    """Whether the training rows themselves are measured, too, as the stage "original": what publishing them would
    score. Only comparisons need it."""
    analyses: tuple[str, ...] | None = None
    """What users will estimate, as formulas: `income ~ 1` (a mean), `income ~ age + sex` (a linear model), `died ~ age`
    (a logistic one, of two values), `Surv(days, died) ~ age` (Cox's). Not given: means and shares of the columns, and a
    model of each target, or else of each sensitive column, or of one that is no quasi-identifier."""
    strata: str | None = None
    """Column of the strata of a survey, for the intervals of ``analyses``. Not given: none."""
    clusters: str | None = None
    """Column of the clusters of a survey that were drawn (primary sampling units), for the intervals of ``analyses``:
    rows of one cluster are alike, which makes them wider. Not given: each row is one."""
    families: tuple[Family, ...] = ("privacy", "utility", "fidelity")
    """Which families of metrics are computed."""
    metrics: tuple[str, ...] | None = None
    """Names of the metrics to compute (see `hybrid metrics`). Not given: of the default metrics of the families, a run
    and an audit compute what the policy judges and the report's first page shows; comparisons compute all of them."""
    also: Literal["all"] | tuple[str, ...] = ()
    """Names of metrics to compute beside these. all: every default metric of the families. Those that are no default
    ones, heavy ones and forms of papers, are always named: `[all, mir]`."""
    seconds: dict[Family, float] = Field(default_factory=dict)
    """Time budget of a family at one stage, in seconds; what has not begun by then is "timed out". Not given: none."""
    power: bool = True
    """Whether leaks are planted into the synthetic table, to see whether the policy's verdict would notice them
    (``must_detect``). Without them, what must be noticed is not judged, which is a review."""
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    """Level of all intervals."""
    max_records: int | None = Field(default=30_000, ge=100)
    """Records of a table (or of each equal part of it) that searches and attacks ask about, a random sample of larger
    ones; they are always compared with all records of the other table. Where the largest table has more records than
    this, as many fewer are asked about, but 10,000. null: no limit."""
    attacks: int = Field(default=2000, ge=10, le=1_000_000)
    """Predicates that each singling-out attack tries to make (thesis, section 3.2)."""
    singling_out_columns: tuple[int, ...] = (3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    """Numbers of columns that multivariate singling-out predicates combine; those above the table's are left out."""
    linkability: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """The columns each of two data holders knows. Not given: the first and the second half of the columns by name."""
    linkability_neighbours: int = Field(default=1, ge=1, le=100)
    """How many nearest records (ties all included) the linkability attack looks at."""
    inference_neighbours: tuple[Annotated[int, Field(ge=1, le=1000)], ...] = Field(default=(1, 5, 20), min_length=1)
    """How many nearest rows `inference_neighbours` guesses from; each number is tried."""
    tolerance: float = Field(default=0.05, ge=0, lt=1)
    """A guessed number counts as right within this share of the larger of guess and truth."""
    absolute_tolerance: float = Field(default=0.0, ge=0)
    """... or within this distance (in the column's unit; seconds for dates)."""
    dcr_percentile: float = Field(default=2.0, gt=0, lt=100)
    """alpha of the DCR privacy score, in percent of the real records (thesis, section 3.3.4)."""
    knn_neighbours: int = Field(default=5, ge=1, le=100)
    """k of `knn_share`: which nearest record of the training people and of the people never seen is compared."""
    groups: tuple[str, ...] | None = None
    """Columns whose groups of people are looked at: who is missing, for whom models of the table err, and of whom
    ``analyses`` differ. Not given: quasi-identifiers, sensitive columns and targets."""
    radius: float = Field(default=0.1, ge=0, lt=1)
    """Two numbers match in GTCAP within this share of the column's range in the training data."""
    min_cell: int = Field(default=20, ge=5)
    """Subgroups with fewer records are never reported."""
    min_holders: int = Field(default=5, ge=2)
    """A value that fewer training people hold is rare (metric `rare_values`)."""
    retrain: RetrainOptions | None = None
    """Attacks that train the generator again. Not given: `membership_trained` alone is made, where its trainings take
    minutes at most; given: also canaries and counting queries, however long they take."""
    encoder: EncoderOptions | None = None
    """Attacks and distances in the space of a contrastive encoder (metrics `cl_*`). Not given: not computed."""
    privacy_score: PrivacyScoreOptions | None = None
    """Score of single rows by the records around them (metric `privacy_score`). Not given: not computed."""
    attacker_register: RegisterOptions | None = None
    """Table in which an attacker looks people up (metric `register_linkage`). Of linked tables, the person table is
    compared with it. Not given: the population table of `k_map`, which is one; none where there is neither."""
    paper: bool = False
    """Whether details also carry the formulas exactly as the papers print them, where those differ."""

    @property
    def asks_for_all(self) -> bool:
        """True if every default metric of the families is asked for."""
        return EVERY in self._also

    @property
    def also_named(self) -> tuple[str, ...]:
        """Metrics of ``also`` that are asked for by their names."""
        return tuple(name for name in self._also if name != EVERY)

    @property
    def named(self) -> frozenset[str]:
        return frozenset((*(self.metrics or ()), *self.also_named))

    @property
    def _also(self) -> tuple[str, ...]:
        return self.also if isinstance(self.also, tuple) else (self.also,)
