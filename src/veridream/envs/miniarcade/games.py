"""Every game of MiniArcade and its scripted player, by task id."""

from collections.abc import Callable
from functools import partial
from typing import Any

from veridream.envs.miniarcade import (
    air_hockey,
    bird_attack,
    cartpole,
    chase_evade,
    coconut_dodge,
    coinrun,
    cowboy,
    dungeon_explorer,
    experts,
    foraging,
    highway,
    landing,
    point_maze,
    pong,
    reacher_easy,
    rocket_collect,
    spaceship,
    whirlpool,
)

# task id -> (the game, to be called with a canvas; its player, to be called without arguments)
GAMES: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    **{t: (partial(point_maze.PointMaze, layout=walls), partial(experts.MazePlayer, walls)) for t, walls in point_maze.LAYOUTS.items()},
    **{t: (partial(cartpole.CartPole, rules=rules), cartpole.CartPolePlayer) for t, rules in cartpole.VARIANTS.items()},
    "pygame-air-hockey": (air_hockey.AirHockey, air_hockey.AirHockeyPlayer),
    "pygame-bird-attack": (bird_attack.BirdAttack, bird_attack.BirdAttackPlayer),
    "pygame-chase-evade": (chase_evade.ChaseEvade, chase_evade.ChaseEvadePlayer),
    "pygame-coconut-dodge": (coconut_dodge.CoconutDodge, coconut_dodge.CoconutPlayer),
    "pygame-coinrun": (coinrun.Coinrun, coinrun.CoinrunPlayer),
    "pygame-cowboy": (cowboy.Cowboy, cowboy.CowboyPlayer),
    "pygame-dungeon-explorer1": (dungeon_explorer.DungeonExplorer, dungeon_explorer.DungeonPlayer),
    "pygame-foraging": (foraging.Foraging, foraging.ForagingPlayer),
    "pygame-highway": (highway.Highway, highway.HighwayPlayer),
    "pygame-landing": (landing.Landing, landing.LandingPlayer),
    "pygame-pong": (pong.Pong, experts.PongPlayer),
    "pygame-reacher-easy": (reacher_easy.ReacherEasy, experts.ReacherPlayer),
    "pygame-rocket-collect": (rocket_collect.RocketCollect, rocket_collect.RocketCollectPlayer),
    "pygame-spaceship": (spaceship.Spaceship, spaceship.SpaceshipPlayer),
    "pygame-whirlpool": (whirlpool.Whirlpool, whirlpool.WhirlpoolPlayer),
}


def named(task_id: str) -> tuple[Callable[..., Any], Callable[[], Any]]:
    """A task's game and player. Raises ValueError for a game that does not exist."""
    if task_id not in GAMES:
        raise ValueError(f"MiniArcade has no game {task_id!r}; known: {', '.join(GAMES)}")
    return GAMES[task_id]
