"""What the report says about where it was made. Nothing here changes between two runs on one machine."""

import importlib.metadata
import os
import platform
from pathlib import Path

PACKAGES = ("torch", "numpy", "zarr", "snakemake", "dm-control", "mujoco", "metaworld", "gymnasium", "ale-py", "pygame-ce", "matplotlib")


def machine() -> dict[str, str]:
    """Processor, cores, memory, system, Python."""
    facts = {"processor": _processor(), "cores": str(os.cpu_count() or "unknown"), "system": f"{platform.system()} {platform.release()} {platform.machine()}"}
    try:
        facts["memory"] = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"
    except (ValueError, OSError):
        facts["memory"] = "unknown"
    return {**facts, "Python": platform.python_version()}


def versions() -> dict[str, str]:
    """Installed versions of the packages that decide the numbers."""
    out = {}
    for name in PACKAGES:
        try:
            out[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            out[name] = "not installed"
    return out


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
