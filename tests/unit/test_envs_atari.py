from types import SimpleNamespace

import numpy as np
import pytest

from veridream.envs import atari
from veridream.envs.atari_games import GAMES
from veridream.envs.atari_players import MOVES, Lookahead, PongPlayer
from veridream.envs.base import RawStep
from veridream.envs.score import normalised_score
from veridream.params.tasks import registry, task

ROWS = [t for t in registry().values() if t.domain == "atari"]


def test_every_game_has_a_row_and_every_row_a_game():
    assert {t.id for t in ROWS} == set(GAMES) and len(ROWS) == 27
    assert len({t.instruction for t in ROWS}) == len(ROWS)


@pytest.mark.parametrize("name", GAMES)
def test_a_games_record_makes_sense(name):
    game, row = GAMES[name], task(name)
    assert 0 <= game.rows.start < game.rows.stop <= 210 and 0 <= game.columns.start < game.columns.stop <= 160
    assert len(set(game.ram.values())) == len(game.ram) and all(0 <= at < 128 for at in game.ram.values())
    assert tuple(game.ram)[:2] == row.coverage.names and row.coverage.dims == (0, 1)
    assert game.goal is None or game.goal[0] in game.ram


def test_scores_are_between_the_published_ones():
    boxing = task("atari-boxing")
    assert normalised_score(boxing, 1, 1000, 12.1, False) == 1.0
    assert normalised_score(boxing, 1, 1000, -40.0, False) == 0.0
    assert normalised_score(task("atari-pong"), 1, 1000, 0.0, False) == 0.5


def test_things_grow_until_they_are_legible():
    assert [atari.growth(s, 160, 2, 3.0) for s in (32, 64, 128, 224)] == [6, 3, 1, 0]
    screen = np.zeros((160, 160, 3), np.uint8)
    screen[80:82, 80:82] = (200, 30, 30)
    assert (atari.draw(screen, 32, 0)[..., 0] > 100).sum() == 0
    assert (atari.draw(screen, 32, 6)[..., 0] > 100).sum() >= 4
    assert atari.draw(screen[20:100, 30:150], 32, 0).shape == (32, 32, 3)


def test_moves_are_the_stick_and_the_button():
    package = np.array([atari.Console._to_package(m) for m in MOVES])
    x, y = package[:, 0] * np.cos(package[:, 1]), package[:, 0] * np.sin(package[:, 1])
    read = {(int(a > 0.5) - int(a < -0.5), int(b > 0.5) - int(b < -0.5), f > 0.5) for a, b, f in zip(x, y, package[:, 2], strict=True)}
    assert len(read) == len(MOVES) == 18


class Corridor:
    """A stand-in for a console: each step to the right is worth one, and one to the left costs a life."""

    def __init__(self):
        self.x, self.left = 0, 3

    def step(self, action):
        right, left = action[0] > 0 and action[1] == 0.0, action[0] > 0 and action[1] == 1.0
        self.x += right
        self.left -= left
        return RawStep(float(right), self.left <= 0)

    def lives(self):
        return self.left

    def snapshot(self):
        return self.x, self.left

    def restore(self, snap):
        self.x, self.left = snap


def test_looking_ahead_pays_and_leaves_the_console_as_it_was():
    env, rng = SimpleNamespace(raw=Corridor(), repeat=1), np.random.default_rng(0)
    player = Lookahead()
    player.reset(env, rng)
    for _ in range(200):
        before = env.raw.snapshot()
        action = player.act(env, rng)
        assert env.raw.snapshot() == before
        env.raw.step(action)
    assert env.raw.x > 2 * 200 * 2 / 18  # twice what chance gives
    assert env.raw.left == 3


def test_experts_and_unknown_games():
    assert isinstance(atari.make_expert(task("atari-pong")), PongPlayer)
    assert isinstance(atari.make_expert(task("atari-alien")), Lookahead)
    other = task("atari-pong").model_copy(update={"id": "atari-chess"})
    for make in (lambda: atari.make(other, 32, "fast"), lambda: atari.make_expert(other)):
        with pytest.raises(ValueError, match="atari-chess"):
            make()


def test_every_episode_starts_from_the_same_opening_and_parts_from_there():
    console = atari.make(task("atari-boxing"), 32, "fast")
    frames = []
    for seed in (1, 2, 1):
        console.reset(seed)
        frames.append(console.render())
    np.testing.assert_array_equal(frames[0], frames[2])
    assert (frames[0] != frames[1]).any()
    console.close()
