"""Which side of the split an episode is on: a hash of its own key, so it is known before anything is collected."""

import hashlib

from veridream.params.model import Params
from veridream.params.slices import base_models, stores, train_episodes


def split_of(role: str, salt: str, store: str, episode: int, heldout: float, tune: float = 0.0) -> str:
    """Side of one episode; depends on nothing but its own key."""
    if role != "corpus":
        return "heldout" if role == "test" else "train"
    draw = int.from_bytes(hashlib.sha256(f"{salt}\0{store}\0{episode}".encode()).digest()[:8], "big") / 2**64
    return "heldout" if draw < heldout else "tune" if draw < heldout + tune else "train"


def wanted_sides(heldout: float, tune: float) -> list[str]:
    """The sides of which every seen task needs an episode."""
    return [side for side, share in (("train", 1.0), ("heldout", heldout), ("tune", tune)) if share > 0]


def empty_sides(params: Params) -> list[str]:
    """ "task mw-push would have no tune episode" for each seen task and side that is wanted and gets none, for any base model; sorted."""
    s = params.split
    own = {m: train_episodes(params, m) for m in base_models(params)}
    found: dict[tuple[str, str], set[str]] = {}
    for store in stores(params):
        if store["role"] != "corpus":
            continue
        key = f"corpus/{store['task']}/{store['behaviour']}-s{store['seed']}"
        sides = [split_of("corpus", s.salt, key, i, s.heldout, s.tune) for i in range(store["episodes"])]
        for m, episodes in own.items():
            first = episodes[store["task"]][store["behaviour"]]
            found.setdefault((m, store["task"]), set()).update(x for i, x in enumerate(sides) if x != "train" or i < first)
    return sorted(
        {f"task {t} would have no {side} episode" for (_, t), sides_ in found.items() for side in wanted_sides(s.heldout, s.tune) if side not in sides_}
    )
