"""A colleague's fresh clone, a pull and a restore: nothing to run. Through a folder, and into a shallow clone through S3 on this machine."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.project import copy_finished, run
from helpers.witnesses import NOTHING, ask
from veridream.provenance.receipts import load_receipts

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(1800)]
IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Test"), ("EMAIL", "test@example.org"))}


def git(project: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=project, check=True, capture_output=True, env=os.environ | IDENTITY)


def dvc(project: Path, *words: str, **env: str) -> None:
    r = run(project, "-m", "dvc", *words, **env)
    assert r.returncode == 0, f"dvc {' '.join(words)}:\n{r.stdout}{r.stderr}"


def share(recorded: Path, tmp_path: Path, url: str, *settings: tuple[str, str], shallow: bool = False, **env: str) -> None:
    """Pushes, clones, pulls, restores; then nothing is to be made, by all three witnesses, and all receipts are equal."""
    mine, theirs = copy_finished(recorded, tmp_path / "mine"), tmp_path / "theirs"
    dvc(mine, "remote", "add", "--default", "store", url)
    for name, value in settings:
        dvc(mine, "remote", "modify", "store", name, value)
    git(mine, "add", "--all")
    git(mine, "commit", "--quiet", "--message", "a remote")
    dvc(mine, "push", **env)

    git(tmp_path, "clone", "--quiet", *(["--depth", "1"] if shallow else []), f"file://{mine}", str(theirs))
    assert not (theirs / "results").exists()
    dvc(theirs, "pull", **env)
    r = run(theirs, "restore_artefacts.py", "--scale", "smoke")
    assert r.returncode == 0 and "0 jobs are stale" in r.stdout, r.stdout + r.stderr
    assert ask(theirs) == NOTHING
    assert run(theirs, "audit_artefact.py", "--all", "--scale", "smoke").returncode == 0

    def receipts(project: Path) -> dict:
        return {Path(k).relative_to(project): v for k, v in load_receipts(project / "results/smoke/receipts").items()}

    assert receipts(mine) == receipts(theirs)


def test_through_a_folder(recorded_smoke, tmp_path):
    share(recorded_smoke, tmp_path, str(tmp_path / "store"))


@pytest.fixture
def s3():
    """The address of an S3 server on loopback, with the bucket "veridream"."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert server.poll() is None and time.monotonic() < end, "the S3 server did not start"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_through_s3(recorded_smoke, tmp_path, s3):
    import boto3

    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    client = boto3.client("s3", endpoint_url=s3, aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    client.create_bucket(Bucket="veridream")
    share(recorded_smoke, tmp_path, "s3://veridream/store", ("endpointurl", s3), shallow=True, **keys)
    assert client.list_objects_v2(Bucket="veridream")["KeyCount"] > 50
