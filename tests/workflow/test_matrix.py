"""The matrix: after each kind of change, `snakemake -n`, `dvc status` and `make audit-all` name exactly the jobs that must run. See docs/lineage.md.

One finished and recorded copy serves every row: a row changes something, all three are asked, and the change is undone.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from helpers.project import copy_finished
from helpers.witnesses import Recorded, ask, dry_run
from veridream.params.load import load_params
from veridream.params.slices import stores

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(900)]
IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Test"), ("EMAIL", "test@example.org"))}
STORE, LATENTS, SCORES, TABLE = (
    f"results/smoke/{x}" for x in ("data/corpus/atari-pong/expert-s0.zarr", "latents/base", "scores/base.parquet", "tables/auroc.csv")
)
PAGE = "render_report/index"  # the page lists every param, so every change of one draws it again
DAY = 86400
Undo = Callable[[], object]


@dataclass(frozen=True)
class Row:
    name: str
    change: Callable[[Path], Undo | None]  # sources come back by themselves (git); what is done to results is undone by what it returns
    jobs: Iterable[str] | Callable[[Path], Iterable[str]] = ()  # that must run for a reason of their own: patterns of "stage/name"
    bytes_of: tuple[str, ...] = ()  # artefacts whose bytes changed
    blind: bool = False  # Snakemake cannot see it: the audit and DVC do
    readers: tuple[str, ...] = ()  # jobs that are to read what new jobs make
    aside: tuple[str, ...] = ()  # jobs that the rules no longer have


def git(project: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=project, check=True, capture_output=True, text=True, env=os.environ | IDENTITY).stdout


def line(path: str, text: str) -> Callable[[Path], None]:
    """Adds a line at the end of a source file."""

    def change(project: Path) -> None:
        with (project / path).open("a") as f:
            f.write(f"\n{text}\n")

    return change


def key(name: str, value: object, file: str = "params/scales/smoke.yaml") -> Callable[[Path], None]:
    """Sets "mpc.episodes" in a YAML file; a value that is called gets the old one."""

    def change(project: Path) -> None:
        whole = yaml.safe_load((project / file).read_text())
        *folders, last = name.split(".")
        at = whole
        for folder in folders:
            at = at.setdefault(folder, {})
        new = value(at[last]) if callable(value) else value
        assert at.get(last) != new
        at[last] = new
        (project / file).write_text(yaml.safe_dump(whole))

    return change


def words(path: str, **renamed: str) -> Callable[[Path], None]:
    """Renames words of a source file."""

    def change(project: Path) -> None:
        text = (project / path).read_text()
        for old, new in renamed.items():
            text, n = re.subn(rf"\b{old}\b", new, text)
            assert n > 1, f"{path} has no {old} any more"
        (project / path).write_text(text)

    return change


def comments(project: Path) -> None:
    for path in ("src/veridream/spec.py", "src/veridream/nn/dynamics.py", "src/veridream/provenance/stage.py", "src/train_tokenizer.py"):
        (project / path).write_text("# a comment\n" + (project / path).read_text() + "\n# another\n")


def docstrings(project: Path) -> None:
    for path in ("src/veridream/spec.py", "src/veridream/nn/dynamics.py", "src/veridream/io/episode_store.py", "src/train_tokenizer.py"):
        text = (project / path).read_text()
        assert text.startswith('"""')
        (project / path).write_text('"""Another docstring, of one line."""' + text.split('"""', 2)[2])


def formatted(project: Path) -> None:
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", "--line-length", "70", "src"], cwd=project, check=True)
    assert len(git(project, "diff", "--name-only").split()) > 50


def touched(project: Path) -> None:
    """As after a fresh checkout: every source is newer than every result."""
    for name in git(project, "ls-files").split():
        (project / name).touch()


def times(days: float) -> Callable[[Path], Undo]:
    """All of results/ was made that long after (before) now: the clock has been set back (forward) since."""

    def shift(project: Path, seconds: float) -> None:
        for path in (project / "results").rglob("*"):
            old = path.stat()
            os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns + int(seconds * 1e9)))

    def change(project: Path) -> Undo:
        shift(project, days * DAY)
        return lambda: shift(project, -days * DAY)

    return change


def gone(*names: str) -> Callable[[Path], Undo]:
    def change(project: Path) -> Undo:
        aside = project.parent / "aside"
        for name in names:
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(project / name, aside / name)
        return lambda: [shutil.move(aside / name, project / name) for name in names]

    return change


def flipped(name: str) -> Callable[[Path], Undo]:
    """One bit of the largest file of an artefact. Its time changes, without which DVC, whose cache goes by time, size and inode, sees nothing."""

    def change(project: Path) -> Undo:
        files = [p for p in (project / name).rglob("*") if p.is_file()] or [project / name]
        path = max(files, key=lambda p: p.stat().st_size)
        sound, stat = path.read_bytes(), path.stat()
        middle = len(sound) // 2

        def back() -> None:
            path.write_bytes(sound)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

        path.write_bytes(sound[:middle] + bytes([sound[middle] ^ 1]) + sound[middle + 1 :])
        return back

    return change


def read_only(project: Path) -> Undo:
    subprocess.run(["chmod", "-R", "a-w", "results"], cwd=project, check=True)
    return lambda: subprocess.run(["chmod", "-R", "u+w", "results"], cwd=project, check=True)


def other_scale(project: Path) -> None:
    shutil.copy2(project / "params/scales/smoke.yaml", project / "params/scales/other.yaml")
    key("mpc.episodes", 3, "params/scales/other.yaml")(project)


def moved(project: Path) -> Undo:
    """The folder gets another name; a link keeps the old one for the tests, which ask in the new one."""
    away = project.with_name("moved")
    project.rename(away)
    project.symlink_to(away)

    def back() -> None:
        project.unlink()
        away.rename(project)

    return back


def branch_and_back(project: Path) -> Undo:
    git(project, "switch", "--quiet", "--create", "branch")
    line("src/veridream/spec.py", "ADDED = 1")(project)
    line("params/claims.yaml", "# a comment")(project)
    key("score.seed", 7)(project)
    git(project, "commit", "--quiet", "--all", "--message", "on a branch")
    on_branch = set(dry_run(project))
    assert on_branch >= {"collect_episodes/corpus/mw-push/expert-s0", "score_rollouts/base", PAGE}
    git(project, "switch", "--quiet", "-")
    return lambda: git(project, "branch", "--quiet", "-D", "branch")


def dealt_anew(project: Path) -> set[str]:
    """Stores whose number of episodes is another than was recorded: `collect.counts` is dealt to the seen tasks by a permutation of them all."""
    then = {(s["role"], s["task"], s["behaviour"]): s["episodes"] for s in stores(load_params("smoke", root=project / "then"))}
    now = stores(load_params("smoke", root=project / "params"))
    return {
        f"collect_episodes/{s['role']}/{s['task']}/{s['behaviour']}-s{s['seed']}"
        for s in now
        if then.get((s["role"], s["task"], s["behaviour"])) != s["episodes"]
    }


def without_the_last_seen_task(project: Path) -> None:
    shutil.copytree(project / "params", project / "then")
    for name in ("tasks.seen", "collect.counts"):
        key(name, lambda old: old[:-1])(project)


BOTH_LISTS = ("score_rollouts/*", "tabulate_results/*", "plot_figure/*", "compare_to_paper/claims", PAGE)  # what reads the seen and the unseen tasks
NEW, LAST = "cup-catch-var1", "pygame-point-maze-var1"
NEW_STORES = tuple(
    f"{role}/{NEW}/{behaviour}"
    for role, behaviour in (*(("targeted", f"{b}-s1") for b in ("noop", "random", "expert")), ("test", "expert-s2"), ("test", "noise-s2"))
)
NEW_JOBS = (
    *(f"{stage}/{store}" for stage in ("collect_episodes", "validate_store") for store in NEW_STORES),
    f"collect_curiosity/{NEW}-s1",
    f"validate_store/targeted/{NEW}/curiosity-s1",
)
ROWS = [
    Row("nothing", lambda project: None),
    Row("comments", comments),
    Row("docstrings", docstrings),
    Row("formatting", formatted),
    Row("every source touched", touched),
    Row("a local variable renamed", words("src/veridream/figures/frame_counts.py", ax="axis"), ("plot_figure/*",)),
    Row("a stage script", line("src/render_clips.py", "ADDED = 1"), ("render_clips/*",)),
    Row("a library five imports deep", line("src/veridream/stats/ranking.py", "ADDED = 1"), ("tabulate_results/*", "plot_figure/*", "compare_to_paper/*")),
    Row("a library that simulators plan with", line("src/veridream/planning/cem.py", "ADDED = 1"), ("collect_curiosity/*", "plan_mpc/*")),
    Row("one domain's simulator", line("src/veridream/envs/atari.py", "ADDED = 1"), ("collect_episodes/*/atari-pong/*",)),
    Row("the environment lock", line("requirements/lock.txt", "something-new==1"), ("*",)),
    Row("a key of one stage", key("mpc.episodes", 3), ("plan_mpc/*", PAGE)),
    Row("a key that only the page reads", key("collect.switched.longest", 99), (PAGE,)),
    Row("a default that the scale overrides", key("score.sequences", 47, "params/base.yaml")),
    Row("a seed", key("score.seed", 7), ("score_rollouts/*", PAGE)),
    Row("the claims' file", line("params/claims.yaml", "# a comment"), ("compare_to_paper/*",), ("params/claims.yaml",)),
    Row(
        "an unseen task added",
        key("tasks.unseen", lambda tasks: [*tasks, NEW]),
        (*NEW_JOBS, "index_episodes/test", "plan_mpc/*", *BOTH_LISTS),
        readers=("finetune_world_model/targeted_*",),
    ),
    Row(
        "a seen task removed",
        without_the_last_seen_task,
        lambda project: {*dealt_anew(project), "index_episodes/corpus", "index_episodes/replicate_1", "export_rollouts/base", *BOTH_LISTS},
        aside=(f"collect_episodes/corpus/{LAST}/*", f"validate_store/corpus/{LAST}/*"),
    ),
    Row("another scale beside it", other_scale),
    Row("a branch and back", branch_and_back),
    Row("a moved folder", moved),
    Row("the clock set back a day", times(1)),
    Row("the clock set forward a day", times(-1)),
    Row("results read-only", read_only),
    Row("a deleted artefact", gone(LATENTS), ("encode_latents/base",), (LATENTS,)),
    Row("a deleted id", gone(f"{SCORES}.id"), ("score_rollouts/base",), (f"{SCORES}.id",)),  # of which DVC knows nothing
    Row(
        "a deleted receipt",
        gone("results/smoke/receipts/plot_figure/traces.json"),
        ("plot_figure/traces",),
        ("results/smoke/receipts/plot_figure/traces.json",),
    ),
    Row("a flipped bit of a store", flipped(STORE), ("collect_episodes/corpus/atari-pong/expert-s0",), (STORE,), blind=True),
    Row("a flipped bit of a table", flipped(TABLE), ("tabulate_results/auroc",), (TABLE,), blind=True),
]


@pytest.fixture(scope="module")
def recorded(recorded_smoke, tmp_path_factory) -> Iterator[tuple[Path, Recorded]]:
    project = copy_finished(recorded_smoke, tmp_path_factory.mktemp("matrix") / "project")
    yield project, Recorded.of(project)


@pytest.fixture(scope="module")
def summary(request) -> Iterator[list[str]]:
    """What each row did, printed at the end."""
    lines: list[str] = []
    yield lines
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("\n" + "\n".join(["the matrix: rows on which Snakemake, DVC and the audit agree", *lines, f"{len(lines)} of {len(ROWS)} rows"]))


def named(patterns: Iterable[str], jobs: Iterable[str]) -> set[str]:
    """The jobs of these patterns; a name without a star may be that of a new job."""
    out = set()
    for pattern in patterns:
        found = {job for job in jobs if fnmatch(job, pattern)} or {pattern}
        assert "*" not in "".join(found), f"no job is called {pattern}"
        out |= found
    return out


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "-"))
def test_all_three_name_the_jobs_that_must_run(recorded, summary, row):
    project, then = recorded
    began, undo = time.monotonic(), None
    try:
        undo = row.change(project)
        said = ask(project.resolve())
        must = named(row.jobs(project) if callable(row.jobs) else row.jobs, then.receipts)
        left = named(row.aside, then.receipts)
        assert said.aside == left
        assert said.audit == must if not left else must <= said.audit <= said.planned  # more of them read what is left over
        assert said.own <= must
        assert said.planned == (set() if row.blind else then.below(must | named(row.readers, then.receipts)) - left)
        assert said.dvc == then.dvc_stages(() if row.bytes_of else must & set(then.receipts), row.bytes_of)
        summary.append(f"  {row.name:40} {said.text():50} {time.monotonic() - began:5.1f} s")
    finally:
        if undo is not None:
            undo()
        git(project, "checkout", "--quiet", "--", ".")
        git(project, "clean", "--quiet", "--force", "-d")
