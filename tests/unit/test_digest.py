"""The code digest follows meaning: what a stage runs, at any depth, and nothing else."""

import shutil

import pytest

from veridream.provenance.digest import ROOT, canonical, code_digest, code_modules, content_id, environment_digest, job_domains
from veridream.spec import DOMAIN_MODULES

FILES = {
    "src/cook.py": "from veridream.a import boil\n\nif __name__ == '__main__':\n    boil()\n",
    "src/veridream/__init__.py": "",
    "src/veridream/a.py": "import veridream.sub.b\n\n\ndef boil():\n    return veridream.sub.b.HEAT\n",
    "src/veridream/sub/__init__.py": "",
    "src/veridream/sub/b.py": "from veridream.sub import c\n\nHEAT = c.WATTS\n",
    "src/veridream/sub/c.py": '"""Power."""\n\nWATTS = 100\n\n\ndef f(x):\n    """Twice."""\n    return 2 * x\n',
    "src/veridream/other.py": "UNUSED = 1\n",
    "requirements/lock.txt": "numpy==1.0\n",
}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_closure_reaches_three_imports_deep_and_no_further(project):
    names = set(code_modules("src/cook.py", project))
    assert names == {f"src/{n}.py" for n in ("cook", "veridream/__init__", "veridream/a", "veridream/sub/__init__", "veridream/sub/b", "veridream/sub/c")}


@pytest.mark.parametrize(
    "text",
    [
        '"""Power, in watts."""\n\nWATTS = 100\n\n\ndef f(x):\n    """Doubles."""\n    return 2 * x\n',
        "# a comment\nWATTS = 100  # of heat\n\n\ndef f(x):\n    return 2 * x\n",
        '"""Power."""\nWATTS = (\n    100\n)\ndef f(x):\n    """Twice."""\n    return (2 *\n        x)\n',
    ],
    ids=["docstring", "comment", "formatting"],
)
def test_an_edit_without_meaning_keeps_the_digest(project, text):
    before = code_digest("src/cook.py", project)
    (project / "src/veridream/sub/c.py").write_text(text)
    assert code_digest("src/cook.py", project) == before


@pytest.mark.parametrize("old, new", [("WATTS = 100", "WATTS = 101"), ("2 * x", "3 * x"), ("def f(x)", "def f(x, y=1)")])
def test_an_edit_three_imports_deep_changes_it_and_is_named(project, old, new):
    before, modules = code_digest("src/cook.py", project), code_modules("src/cook.py", project)
    c = project / "src/veridream/sub/c.py"
    c.write_text(c.read_text().replace(old, new))
    assert code_digest("src/cook.py", project) != before
    now = code_modules("src/cook.py", project)
    assert [k for k in now if now[k] != modules[k]] == ["src/veridream/sub/c.py"]


def test_a_module_no_one_imports_does_not_count(project):
    before = code_digest("src/cook.py", project)
    (project / "src/veridream/other.py").write_text("UNUSED = 2\n")
    assert code_digest("src/cook.py", project) == before


def test_a_string_that_is_no_docstring_counts(project):
    before = code_digest("src/cook.py", project)
    c = project / "src/veridream/sub/c.py"
    c.write_text(c.read_text().replace("    return 2 * x", '    x = "said"\n    return 2 * x'))
    assert code_digest("src/cook.py", project) != before


def test_the_environment_lock_counts(project):
    before, env = code_digest("src/cook.py", project), environment_digest(project / "requirements/lock.txt")
    (project / "requirements/lock.txt").write_text("numpy==1.1\n")
    assert code_digest("src/cook.py", project) != before
    assert environment_digest(project / "requirements/lock.txt") != env


def test_the_place_of_the_project_does_not_count(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("moved") / "project"
    shutil.copytree(project, elsewhere)
    assert code_digest("src/cook.py", elsewhere) == code_digest("src/cook.py", project)


@pytest.mark.parametrize(
    "line, why",
    [
        ("from .sub import b", "relative import"),
        ("import importlib\nimportlib.import_module(NAME)", "dynamic import"),
        ("__import__('veridream.other')", "dynamic import"),
    ],
)
def test_an_import_that_cannot_be_followed_is_refused(project, line, why):
    a = project / "src/veridream/a.py"
    a.write_text(a.read_text() + line + "\n")
    with pytest.raises(ValueError, match=rf"a\.py:\d+: {why}"):
        code_digest("src/cook.py", project)


def test_an_import_inside_a_function_is_followed(project):
    a = project / "src/veridream/a.py"
    a.write_text(a.read_text() + "\n\ndef late():\n    from veridream.other import UNUSED\n    return UNUSED\n")
    assert "src/veridream/other.py" in code_modules("src/cook.py", project)


def test_a_job_that_makes_simulators_counts_its_own_domains_modules(project):
    (project / "src/veridream/envs").mkdir()
    for name in ("__init__", "atari", "box2d"):
        (project / f"src/veridream/envs/{name}.py").write_text("")
    before = code_modules("src/cook.py", project, ["atari"])
    assert before == code_modules("src/cook.py", project), "a stage that makes no simulator"
    a = project / "src/veridream/a.py"
    a.write_text(a.read_text() + "\n\ndef late(domain):\n    return import_module(DOMAIN_MODULES[domain])\n")
    assert "src/veridream/envs/atari.py" not in code_modules("src/cook.py", project)
    now = code_modules("src/cook.py", project, ["atari"])
    assert "src/veridream/envs/atari.py" in now and "src/veridream/envs/box2d.py" not in now


def test_the_domains_of_a_job_are_those_of_its_registry_rows():
    assert job_domains({"registry": [{"domain": "pygame"}, {"domain": "atari"}, {"domain": "pygame"}]}) == ("atari", "pygame")
    assert job_domains({"task": "cup-catch"}) == ()


@pytest.mark.parametrize("domain", sorted(DOMAIN_MODULES))
def test_every_domain_module_is_part_of_collecting_its_tasks(domain):
    stem = f"src/{DOMAIN_MODULES[domain].replace('.', '/')}"
    assert {f"{stem}.py", f"{stem}/__init__.py"} & set(code_modules("src/collect_episodes.py", domains=[domain]))


@pytest.mark.parametrize("script", sorted(p.name for p in (ROOT / "src").glob("*.py")))
def test_every_script_of_the_project_can_be_followed(script):
    assert f"src/{script}" in code_modules(f"src/{script}")


def test_content_id_is_of_names_and_bytes(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    for folder in (a, b):
        (folder / "sub").mkdir(parents=True)
        (folder / "x").write_bytes(b"one")
        (folder / "sub" / "y").write_bytes(b"two!")
    (b / ".snakemake_timestamp").touch()
    assert content_id(a) == content_id(b)
    assert content_id(a)["bytes"] == 7 and content_id(a)["files"] == 2
    (b / "x").rename(b / "z")
    assert content_id(a)["sha256"] != content_id(b)["sha256"]
    (b / "z").rename(b / "x")
    (b / "sub" / "y").write_bytes(b"twO!")
    assert content_id(a)["sha256"] != content_id(b)["sha256"]


def test_content_id_of_a_file_is_its_sha256(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    assert content_id(tmp_path / "f")["sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(FileNotFoundError, match="gone is missing"):
        content_id(tmp_path / "gone")


def test_canonical_forgets_the_order_of_keys():
    assert canonical({"b": [1, 2.5], "a": None}) == canonical({"a": None, "b": [1, 2.5]}) == '{"a":null,"b":[1,2.5]}'
    with pytest.raises(ValueError):
        canonical(float("nan"))
