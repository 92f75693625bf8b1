"""``hybrid serve``: a laptop's nights by one command."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import yaml

from hybrid.publication.verify import verify
from tests.flows.prefect_programs import Prefect
from tests.helpers.whole_demo import write_whole_demo

RULE = {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 0.5, "reason": "no copies"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = write_whole_demo(tmp_path / "job", rows=300, seed=5)
    content = yaml.safe_load(path.read_text())
    content["evaluate"] |= {"metrics": ["identical_match"], "baseline": False}
    content |= {"name": "laptop", "policy": "policy.yaml"}
    path.write_text(yaml.safe_dump(content))
    policy = {"name": "test", "version": "1", "owner": "tests", "rules": [RULE]}
    (path.parent / "policy.yaml").write_text(yaml.safe_dump(policy))
    return path


@pytest.mark.prefect
@pytest.mark.slow
def test_one_command_brings_server_schedule_and_nights(config: Path, tmp_path: Path) -> None:
    prefect = Prefect(tmp_path)
    places = [word for place in ("work", "runs", "releases") for word in (f"--{place}", str(tmp_path / place))]
    schedule = ["--cron", "0 2 * * *", "--timezone", "Europe/Berlin", "--port", str(prefect.port)]
    with prefect.running("serve", "-m", "hybrid", "serve", str(config), *schedule, *places) as serving:
        prefect.until(prefect.is_healthy)
        prefect.until(lambda: prefect.api.get("/deployments/name/nightly/laptop").status_code == 200)
        deployment = prefect.ask("GET", "/deployments/name/nightly/laptop")
        assert deployment["schedules"][0]["schedule"] == {
            "cron": "0 2 * * *",
            "timezone": "Europe/Berlin",
            "day_or": True,
        }
        assert deployment["global_concurrency_limit"]["limit"] == 1
        assert prefect.night("laptop") == "COMPLETED"
        assert verify(tmp_path / "releases" / "latest") == []
        waits = {key: value for key, value in RULE.items() if key != "block"} | {"review": -1.0}
        policy = {"name": "test", "version": "2", "owner": "tests", "rules": [waits]}
        (config.parent / "policy.yaml").write_text(yaml.safe_dump(policy))
        config.write_text(config.read_text().replace("k: 5", "k: 6"))
        run = prefect.begin("laptop")
        assert prefect.end(run) == "COMPLETED"
        assert prefect.ask("GET", f"/flow_runs/{run}")["state"]["name"] == "Waiting for approval"
        assert "Traceback" not in (tmp_path / "serve.log").read_text()
        serving.send_signal(signal.SIGTERM)
        serving.wait(60)
        assert not prefect.is_healthy()
    assert (tmp_path / "work").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--cron", "tonight"], "tonight"),
        (["--cron", "0 2 * * *", "--timezone", "Mars/Base"], "Mars/Base"),
    ],
)
def test_a_wrong_schedule_is_said_at_once(
    config: Path, given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from hybrid.cli import main

    with pytest.raises(SystemExit) as caught:
        main(["serve", str(config), *given])
    assert caught.value.code == 2
    assert said in capsys.readouterr().err
