"""The doctor: is this machine fit to run the pipeline? Writes .doctor.json: the GL backend that really renders, and the tasks that cannot run here.

As root on Debian it installs the one missing system library after saying so; otherwise it prints the line to type and stops.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil

from veridream.envs.availability import absent
from veridream.envs.gl import probe_backends
from veridream.params.tasks import registry
from veridream.provenance.digest import ROOT

REPORT = ROOT / ".doctor.json"
PACKAGE = "libosmesa6"
NEED_DISK_GB, NEED_MEMORY_GB = 3, 4


def check(name: str, value: str, ok: bool, remedy: str) -> bool:
    print(f"  {'ok' if ok else 'NO'}  {name}: {value}" + ("" if ok else f"\n      {remedy}"))
    return ok


def gl_backend() -> str | None:
    """The first backend that renders in a child process, installing the missing library where that is ours to do."""
    try:
        return probe_backends()
    except RuntimeError as e:
        print(f"  NO  GL backend: {e}")
    line = f"apt-get install -y {PACKAGE}"
    if os.geteuid() != 0 or not Path("/etc/debian_version").exists() or shutil.which("apt-get") is None:
        print(f"      type: sudo {line}   then run this again")
        return None
    print(f"      installing the missing system library as root: {line}", flush=True)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", PACKAGE]):
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            print(f"      {' '.join(command)} failed:\n{done.stderr[-2000:]}")
            return None
    try:
        return probe_backends()
    except RuntimeError as e:
        print(f"  NO  GL backend after the installation: {e}")
        return None


def main() -> int:
    print("checking this machine", flush=True)
    version = sys.version_info[:2]
    disk, memory, cores = shutil.disk_usage(ROOT).free / 1e9, psutil.virtual_memory().total / 1e9, os.cpu_count() or 1
    ok = [
        check("Python", sys.version.split()[0], version == (3, 11), "Veridream needs Python 3.11"),
        check("free disk", f"{disk:.1f} GB", disk >= NEED_DISK_GB, f"the laptop scale needs {NEED_DISK_GB} GB; free some"),
        check("memory", f"{memory:.1f} GB", memory >= NEED_MEMORY_GB, f"the laptop scale needs {NEED_MEMORY_GB} GB"),
        check("cores", str(cores), cores >= 1, ""),
        check("git", shutil.which("git") or "not found", shutil.which("git") is not None, "install git; receipts name the commit"),
    ]
    backend = gl_backend()
    if backend:
        check("GL backend", f"MUJOCO_GL={backend} renders", True, "")
    if not all(ok) or backend is None:
        return 1
    gone = absent()
    check("simulators", f"{len(registry()) - len(gone)} of {len(registry())} tasks can run", True, "")
    if gone:
        print(f"      the others lack something; the first: {next(iter(gone.values()))}")
    REPORT.write_text(json.dumps({"MUJOCO_GL": backend, "absent": gone}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
