"""A judge in another process and another environment: JSON lines over its pipes, with a timeout, and the end of what it said when it fails."""

import collections
import json
import queue
import subprocess
import threading
import types
from collections.abc import Mapping, Sequence
from typing import Any

from veridream.wmb.answers import JudgeError

KEPT = 30  # last lines of its stderr


class Worker:
    """One child process that answers requests in turn.

    Args:
        command: the child; it says {"ready": true, "facts": {...}} first, or {"ready": false, "error": text}.
        ready_s, answer_s: seconds it may take to get ready, and for one answer.
        restarts: how often a child that died or hung is started again and asked once more; `restarted` counts them.
    """

    def __init__(
        self, command: Sequence[str], ready_s: float = 1800.0, answer_s: float = 600.0, restarts: int = 1, env: Mapping[str, str] | None = None
    ) -> None:
        self.command, self.ready_s, self.answer_s, self.restarts, self.env = list(command), ready_s, answer_s, restarts, env
        self.restarted = 0
        self.facts: dict[str, Any] = {}
        self._number = 0

    def __enter__(self) -> "Worker":
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: types.TracebackType | None) -> None:
        self._stop()

    def ask(self, request: Mapping[str, Any]) -> str:
        """The raw answer to {video, prompt, seed}. Raises JudgeError with the child's own words."""
        while True:
            try:
                return self._ask(request)
            except _Died as e:
                self._stop()
                if self.restarted >= self.restarts:
                    raise JudgeError(f"the judge's process {e}, {self.restarted + 1} times, last on {request['video']}:\n{self._last_words()}") from None
                self.restarted += 1
                self._start()

    def _ask(self, request: Mapping[str, Any]) -> str:
        self._number += 1
        reply = self._exchange({"id": self._number, **request}, self.answer_s)
        if reply.get("id") != self._number:
            raise JudgeError(f"the judge's process answered {reply!r} to request {self._number}; it does not keep to the protocol")
        if "error" in reply:
            hint = "; free the GPU's memory or use a larger one" if "out of memory" in reply["error"].lower() else ""
            raise JudgeError(f"the judge failed on {request['video']}: {reply['error']}{hint}; answers so far are kept, the same command goes on")
        return str(reply["raw"])

    def _start(self) -> None:
        try:
            pipe = subprocess.PIPE
            self._child = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, encoding="utf-8", env=self.env)
        except OSError as e:
            raise JudgeError(f"{self.command[0]} cannot be started: {e}; give the python of the judge's environment") from None
        self._said: queue.Queue[str | None] = queue.Queue()
        self._errors: collections.deque[str] = collections.deque(maxlen=KEPT)
        self._readers = [threading.Thread(target=f, args=(self._child,), daemon=True) for f in (self._read, self._read_errors)]
        for t in self._readers:
            t.start()
        try:
            hello = self._receive(self.ready_s)
        except _Died as e:
            self._stop()
            raise JudgeError(f"the judge's process {e} before it was ready:\n{self._last_words()}") from None
        if not hello.get("ready"):
            self._stop()
            raise JudgeError(f"the judge cannot start: {hello.get('error', hello)}")
        self.facts = dict(hello.get("facts", {}))

    def _read(self, child: "subprocess.Popen[str]") -> None:
        assert child.stdout is not None
        for line in child.stdout:
            self._said.put(line)
        self._said.put(None)

    def _read_errors(self, child: "subprocess.Popen[str]") -> None:
        assert child.stderr is not None
        for line in child.stderr:
            self._errors.append(line.rstrip("\n"))

    def _exchange(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(message) + "\n")
            self._child.stdin.flush()
        except OSError:
            raise _Died(self._how()) from None
        return self._receive(seconds)

    def _receive(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._said.get(timeout=seconds)
        except queue.Empty:
            raise _Died(f"said nothing for {seconds:g} s") from None
        if line is None:
            raise _Died(self._how())
        try:
            out = json.loads(line)
        except ValueError:
            out = None
        if not isinstance(out, dict):
            raise JudgeError(f"the judge's process wrote {line!r} where an answer was due; it does not keep to the protocol")
        return out

    def _how(self) -> str:
        try:
            code = self._child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def _last_words(self) -> str:
        self._readers[1].join(timeout=5)
        return "\n".join(self._errors) or "(it said nothing)"

    def _stop(self) -> None:
        if self._child.stdin is not None:
            try:
                self._child.stdin.close()
            except OSError:
                self._child.kill()  # it is gone, and what it was sent with it
        try:
            self._child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


class _Died(Exception):
    """The child gives no answer any more: how."""
