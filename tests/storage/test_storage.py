"""Jobs in folders of their own, whose files an S3 server of this machine carries: the results of a shared folder.

`make test-storage` runs these. An executor (submit.sh) starts each job in an empty folder, as a container does.
"""

import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import yaml
from small_project import projects

from sketchbench.federated import checkpoint
from sketchbench.learning.dataset import mnist
from sketchbench.run import record

isolated = importlib.import_module("isolated")  # beside the small project
ROOT = Path(__file__).parents[2]
small, project = projects.small, projects.project  # fixtures

PLUGINS = ("snakemake_storage_plugin_s3", "snakemake_executor_plugin_cluster_generic", "moto")
MISSING = [name for name in PLUGINS if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.storage,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]
SUBMIT, STATUS = (Path(__file__).with_name(name) for name in ("submit.sh", "status.sh"))
KEYS = {"SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "key", "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "secret"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


class Alone:
    """The project where no folder is shared."""

    def __init__(self, project: projects.Project, server: str) -> None:
        self.project, self.jobs = project, project.path.parent / "jobs"
        self.jobs.mkdir()
        packages = next(path for path in map(Path, sys.path) if (path / PLUGINS[0]).is_dir())
        self.environment = {
            **project.environment(),
            **KEYS,
            "PYTHONPATH": os.pathsep.join([str(project.path), str(packages)]),
            "STORAGE_PACKAGES": str(packages),
            "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": server,
        }
        self.commit()

    def commit(self) -> None:
        """All files, as Snakemake's archive has those that git tracks."""
        for command in ("init -q", "add -A", "-c user.name=n -c user.email=e commit -qm all"):
            subprocess.run(["git", *command.split()], cwd=self.project.path, check=True)

    def start(self, *settings: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "snakemake", "--executor=cluster-generic", "--jobs=4", "--cores=1"]
        command += ["--cluster-generic-submit-cmd", f"sh {shlex.quote(str(SUBMIT))} {shlex.quote(str(self.jobs))}"]
        command += ["--cluster-generic-status-cmd", f"sh {shlex.quote(str(STATUS))}"]
        command += ["--shared-fs-usage=none", "--job-deploy-sources", "--seconds-between-status-checks=1"]
        command += ["--default-storage-provider=s3", f"--default-storage-prefix=s3://bucket/{id(self)}"]
        return subprocess.Popen(
            [*command, "--config", "scale=smoke", "kernels=numpy", "device=elsewhere", *settings],
            cwd=self.project.path,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def finish(self, process: "subprocess.Popen[str]", *, fails: bool = False) -> str:
        output, _ = process.communicate(timeout=900)
        told = "\n".join([output, *((job / "output").read_text() for job in self.jobs.iterdir())])
        assert (process.returncode != 0) is fails, told
        return output

    def run(self, *settings: str, fails: bool = False) -> str:
        return self.finish(self.start(*settings), fails=fails)

    def number(self) -> int:
        """How many jobs were started so far."""
        return len(list(self.jobs.iterdir()))


@pytest.fixture
def alone(project: projects.Project, server: str) -> Alone:
    return Alone(project, server)


def outcome(project: projects.Project) -> dict[str, object]:
    """Every report byte for byte, and of every record its rows and signature, not its times and machine."""
    found: dict[str, object] = dict(project.reports())
    for path in sorted((project.path / "results").rglob("*.parquet")):
        stored = record.read(path)
        found[str(path.relative_to(project.path))] = (
            stored.rows,
            stored.provenance["signature"],
            stored.provenance["commit"],
        )
    return found


def rounds(project: projects.Project) -> int:
    """The rounds of all checkpoints that are at home."""
    return sum(checkpoint.verify(path)[1] for path in (project.path / "results").rglob("*.pt"))


def shared(project: projects.Project) -> dict[str, object]:
    """The outcome in a shared folder, from nothing."""
    for name in ("results", "reports", ".snakemake"):
        shutil.rmtree(project.path / name)
    project.succeed()
    return outcome(project)


def test_a_lost_job_is_done_again_and_nothing_else(alone: Alone) -> None:
    """Reports and records are those of a shared folder; a job reads nothing but the sources and its parcel."""
    study = alone.project.path / "conf" / "study" / "tiny.yaml"
    study.with_name("other.yaml").write_text(study.read_text())
    head = "def run(self) -> list[Row]:\n"
    wait = "        __import__('time').sleep(5)\n"
    alone.project.edit("sketchbench/task/sketches/moments.py", lambda text: text.replace(head, head + wait, 1))
    process = alone.start()
    for _ in range(1200):
        found = [path for path in alone.jobs.glob("*/work/batch.json") if "/tiny/" in path.read_text()]
        if found or process.poll() is not None:
            break
        time.sleep(0.1)
    assert found
    group = int((found[0].parents[1] / "group").read_text())
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    (found[0].parents[1] / "code").write_text("137")
    assert "At least one job did not complete successfully" in alone.finish(process, fails=True)
    assert alone.number() == 2
    assert list((alone.project.path / "results" / "smoke" / "other").rglob("*.parquet"))
    assert not alone.project.records()
    alone.run()
    assert alone.number() == 3
    assert len(alone.project.records()) == 2
    assert "Nothing to be done" in alone.run()
    assert alone.number() == 3
    found_alone = outcome(alone.project)
    assert found_alone == shared(alone.project)


def test_checkpoints_go_home_and_to_the_next_job(alone: Alone) -> None:
    alone.project.path.joinpath("conf", "study", "long.yaml").write_text(projects.LONG)
    told = alone.run("minutes=1.0e-9")  # each job makes a round
    assert "2 runs reached their time limit; rerun the same command to resume" in told
    before = rounds(alone.project)
    alone.run("minutes=1.0e-9")
    assert rounds(alone.project) > before  # as the second job began where the first one ended
    alone.run()
    assert not list((alone.project.path / "results").rglob("*.pt"))
    found_alone = outcome(alone.project)
    assert any("trial1.parquet" in name for name in found_alone)
    assert found_alone == shared(alone.project)


def small_mnist(project: projects.Project, folder: Path) -> None:
    """MNIST's files with 60 images, which the project takes for the official ones."""
    random, sums = np.random.default_rng(5), {}
    (folder / "mnist").mkdir(parents=True)
    for name in mnist.CHECKSUMS:
        shape = (60, 28, 28) if "images" in name else (60,)
        content = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">i4").tobytes()
        content += random.integers(0, 256 if "images" in name else 10, shape, np.uint8).tobytes()
        (folder / "mnist" / name).write_bytes(content)
        sums[mnist.CHECKSUMS[name]] = hashlib.sha256(content).hexdigest()

    def with_sums(text: str) -> str:
        return functools.reduce(lambda text, pair: text.replace(*pair), sums.items(), text)

    project.edit("sketchbench/learning/dataset/mnist.py", with_sums)


def test_each_rule_reads_and_writes_what_it_names(alone: Alone) -> None:
    """As in tests/workflow/test_rules.py. A data set is sent once, for two jobs and for those of a later run."""
    project, data = alone.project, alone.project.path.parent / "data"
    study = project.path / "conf" / "study" / "long.yaml"
    study.write_text(projects.LONG.replace("dataset: digits", "dataset: mnist"))
    small_mnist(project, data)
    isolated.isolate(project)
    (project.path / ".gitignore").write_text(f"{isolated.RAN}\n")
    alone.commit()
    alone.environment["SKETCHBENCH_DATA"] = str(data)
    told = alone.run("minutes=1.0e-9")
    assert told.count("to the storage: mnist-") == 1
    assert "to the storage" not in alone.run()
    places = [project.path, *alone.jobs.glob("*/work")]
    ran = {name for place in places if (file := place / isolated.RAN).is_file() for name in file.read_text().split()}
    rules = ROOT / "workflow" / "rules"
    assert ran >= {*isolated.rules(rules / "home.smk"), *isolated.rules(rules / "away.smk")}


@pytest.mark.parametrize("name", ["kubernetes", "aws_batch"])
def test_the_plugins_know_what_the_profiles_set(name: str) -> None:
    """Each key of a profile is an option of Snakemake with these plugins, and the executor is there."""
    if importlib.util.find_spec(f"snakemake_executor_plugin_{name}") is None:
        pytest.skip(f"snakemake-executor-plugin-{name} is not installed")
    file = ROOT / "workflow" / "profiles" / name.replace("_", "-") / "config.yaml"
    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert settings["executor"] == name.replace("_", "-")
    assert settings["container-image"]
    missing = [key for key in settings if f"--{key} " not in options() and f"--{key}\n" not in options()]
    assert not missing


@pytest.mark.parametrize("name", ["kubernetes", "aws_batch"])
def test_the_profiles_run_dry(alone: Alone, name: str) -> None:
    """All but the cloud: the plan, the options of the executor, the parcels and their places."""
    if importlib.util.find_spec(f"snakemake_executor_plugin_{name}") is None:
        pytest.skip(f"snakemake-executor-plugin-{name} is not installed")
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--verbose"]
    command += ["--workflow-profile", f"workflow/profiles/{name.replace('_', '-')}"]
    command += ["--container-image", "registry/sketchbench", "--default-storage-prefix", "s3://bucket/folder"]
    if name == "aws_batch":
        command += ["--aws-batch-region=eu-central-1", "--aws-batch-job-queue=arn:q", "--aws-batch-job-role=arn:r"]
    done = subprocess.run(
        [*command, "--config", "scale=smoke"],
        cwd=alone.project.path,
        env=alone.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "s3://bucket/folder/results/smoke/tiny/1." in told
    assert re.search(r"^away +1$", told, re.MULTILINE)


@functools.cache
def options() -> str:
    """Snakemake's help with these plugins."""
    command = [sys.executable, "-m", "snakemake", "--help"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace(",", " ")
