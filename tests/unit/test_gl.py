import pytest

from veridream.envs import gl
from veridream.envs.base import SimulatorMissing


def test_a_backend_that_kills_its_process_is_unavailable():
    assert gl.try_backend("egl", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)") == "killed by signal 11"


def test_a_backend_that_raises_gives_its_error():
    assert gl.try_backend("egl", "raise ImportError('no libEGL here')") == "ImportError: no libEGL here"


def test_a_backend_that_hangs_is_unavailable():
    assert "0.2 s" in gl.try_backend("egl", "import time; time.sleep(30)", timeout=0.2)


def test_the_child_gets_the_backend_it_is_to_try():
    assert gl.try_backend("osmesa", "import os, sys; sys.exit(os.environ['MUJOCO_GL'] != 'osmesa')") is None


def test_the_first_one_that_renders_is_chosen():
    assert gl.probe_backends(("egl", "osmesa"), lambda name: "broken" if name == "egl" else None) == "osmesa"


def test_none_is_an_error_with_every_reason_and_the_remedy():
    with pytest.raises(SimulatorMissing) as e:
        gl.probe_backends(attempt=lambda name: f"{name} is broken")
    for words in ("egl: egl is broken", "osmesa: osmesa is broken", "apt-get install -y libosmesa6"):
        assert words in str(e.value)


@pytest.mark.parametrize("value", [None, "", "glfw"])
def test_require_names_the_variable(monkeypatch, value):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    if value is not None:
        monkeypatch.setenv("MUJOCO_GL", value)
    with pytest.raises(SimulatorMissing, match="MUJOCO_GL"):
        gl.require()
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    assert gl.require() == "osmesa"


def test_some_backend_renders_on_this_machine():
    assert gl.probe_backends() in gl.BACKENDS
