"""What a killed launcher leaves running ends with it."""

import os
import signal
import subprocess
import sys
import time

MAKER = """
import subprocess, sys, time
from veridream.provenance.guard import Guard, end_group
guard = Guard()
jobs = "import subprocess, sys, time; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", jobs], stdout=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=guard.watch_me)
print(child.pid, child.stdout.readline().strip(), flush=True)
if sys.argv[1] == "wait":
    child.wait()
    end_group(child.pid)
    guard.done()
    print("done", flush=True)
time.sleep(600)
"""


def started(how):
    maker = subprocess.Popen([sys.executable, "-c", MAKER, how], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "src"})
    return maker, [int(w) for w in maker.stdout.readline().split()]


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def ended(pids):
    until = time.monotonic() + 20
    while any(map(lives, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(lives, pids))


def test_a_killed_maker_takes_the_whole_group_along():
    maker, pids = started("sleep")
    assert len(pids) == 2 and all(map(lives, pids))
    maker.kill()
    maker.wait()
    assert ended(pids)


def test_a_killed_leader_takes_its_group_along_and_no_later_group_is_touched():
    maker, (leader, job) = started("wait")
    os.kill(leader, signal.SIGKILL)
    assert maker.stdout.readline() == "done\n" and ended([job])
    maker.kill()
    maker.wait()
