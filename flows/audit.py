"""Audit flow for any synthetic table.

python flows/audit.py --train train.csv --control control.csv --synthetic synthetic.csv
"""

import argparse
from pathlib import Path

from flows.stages import flow, publish_artifacts, script, stage_task
from hybrid.evaluation.trust import load_trust
from hybrid.jobs.audit import audit_config, judge_tables, read_audit


@stage_task("evaluate")
def evaluate(train: str, control: str | None, synthetic: str, config: str | None, out: str, trust: str | None) -> str:
    """Evaluate files or folders; return the path of the report."""
    config_path = None if config is None else Path(config)
    three = Path(train), None if control is None else Path(control), Path(synthetic)
    options = audit_config(config_path, Path(train), beside=three[1:])
    league = None if trust is None else load_trust(Path(trust))
    judged = judge_tables(read_audit(*three, options), options, league=league)
    judged.save(Path(out))
    report = Path(out) / "report.html"
    publish_artifacts("audit", f"verdict: {judged.verdict.status}", report)
    return str(report)


@flow(name="audit")
def audit(
    train: str,
    synthetic: str,
    control: str | None = None,
    config: str | None = None,
    out: str = "runs/audit",
    trust: str | None = None,
) -> str:
    """Evaluate a synthetic table against the records it was made from."""
    return evaluate(train, control, synthetic, config, out, trust)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", required=True)
    parser.add_argument("--synthetic", required=True)
    parser.add_argument("--control")
    parser.add_argument("--config")
    parser.add_argument("--out", default="runs/audit")
    parser.add_argument("--trust", help="league.json of the laboratory")
    script(audit, **vars(parser.parse_args()))
