"""An episode's normalised score in [0, 1], by the rule of its task in params/tasks.yaml (paper, Sec. 2.10 of the evaluation protocol)."""

import numpy as np

from veridream.params.tasks import Task


def normalised_score(task: Task, frame_skip: int, steps: int, return_: float, success: bool) -> float:
    """The score of one episode.

    Args:
        task: its `score` rule. success: 1 if the task was solved at any step. mean_reward: the return over the most that `steps` agent
            steps can give. linear: the return between the rule's `low` and `high`, which are those of a whole episode: under a
            shorter horizon both shrink in proportion.
        frame_skip: extra action repeat the episode was run with.
        steps: the horizon the episode was run under, agent steps. Not its length: an episode that ended early, by a crash, has lost the rest.
        return_: sum of its rewards.
        success: of the episode.
    Raises:
        ValueError: the rule lacks a number it needs, or the return is not finite.
    """
    rule = task.score
    if not np.isfinite(return_):
        raise ValueError(f"{task.id}: return is {return_}; it must be finite")
    if steps < 1 or frame_skip < 1:
        raise ValueError(f"{task.id}: steps and frame_skip are at least 1; got {steps} and {frame_skip}")
    if rule.kind == "success":
        return 1.0 if success else 0.0
    if rule.kind == "mean_reward":
        if rule.per_step is None or rule.per_step <= 0:
            raise ValueError(f"params/tasks.yaml: task {task.id}: score kind mean_reward needs per_step > 0")
        return float(np.clip(return_ / (steps * rule.per_step * frame_skip), 0.0, 1.0))
    if rule.low is None or rule.high is None or rule.high <= rule.low:
        raise ValueError(f"params/tasks.yaml: task {task.id}: score kind linear needs low < high")
    share = min(1.0, steps * frame_skip / task.horizon)
    return float(np.clip((return_ / share - rule.low) / (rule.high - rule.low), 0.0, 1.0))
