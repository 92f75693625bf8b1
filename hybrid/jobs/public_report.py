"""Public report of a run with ``privacy.mode: dp``."""

from __future__ import annotations

from datetime import datetime

import yaml

from hybrid.base.hashing import library_versions
from hybrid.base.manifest import PACKAGE
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.stages import libraries
from hybrid.publication.first_page import RunFacts, private_page
from hybrid.publication.redact import public_config
from hybrid.publication.table_facts import TableFacts
from hybrid.report.public import render_public


def public_report(pipeline: Pipeline, created: datetime) -> str:
    """Render what the readers of a private table may see.

    Parameters
    ----------
    pipeline : Pipeline
        Finished, with a budget: it claims differential privacy.
    created : datetime
        When the run was made; its day is stated.
    """
    budget, policy = pipeline.budget, pipeline.policy
    assert budget is not None
    config, day = pipeline.config.model_dump(mode="json"), created.date().isoformat()
    table = TableFacts.of(pipeline.table, pipeline.control, pipeline.synthetic, anonymized=False)
    facts = RunFacts(pipeline.config.name, day, policy.owner, config, table, private=True)
    method = yaml.safe_dump(public_config(config), sort_keys=False, allow_unicode=True, width=100)
    page = private_page(f"{policy.name} {policy.version}", facts)
    versions = library_versions(PACKAGE, *libraries())
    return render_public(pipeline.config.name, day, page, budget.to_json(), pipeline.synthetic, method, versions)
