"""The Atari games: what of the screen is shown, which bytes of the console's memory are the state, when a game has begun.

The bytes of boxing, battle zone, ms pacman, pong, seaquest, space invaders and yars' revenge are those of the AtariARI annotations (Anand et
al. 2019); of chopper command, crazy climber, krull, up'n down and asterix those that OCAtari (Delfosse et al. 2024) reads. The others were found
by trying which bytes follow the joystick: that they are a place on the screen is likely, not proven. Where none does (both of atlantis; the
second of beam rider, gopher, name this game, phoenix, robotank) a byte that changes a lot stands in. `ram_<n>` are further such bytes.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Game:
    """One game.

    rom: its name in the package. rows, columns: of the 210 x 160 screen, the ones shown. ram: state entries and their bytes; the first two
    span the coverage map. opening: control steps until the joystick moves something. begun: a byte that is 0 until play has begun, looked at
    instead. goal: an entry and the value at which the game is won. flickers: the brighter of the last two screens is shown. thin, legible:
    things `thin` screen pixels wide and brighter than their background are grown to `legible` pixels of the frame; 0: nothing is grown. waits:
    nothing moves while the player keeps still. warm_up: at most so many random control steps before an episode (fewer where lives are short).
    """

    rom: str
    rows: slice
    ram: dict[str, int]
    opening: int = 0
    begun: int | None = None
    goal: tuple[str, int] | None = None
    flickers: bool = True
    thin: int = 0
    legible: float = 1.5
    warm_up: int = 40
    waits: bool = False
    columns: slice = field(default_factory=lambda: slice(0, 160))


GAMES = {
    "atari-alien": Game(
        "alien", slice(5, 175), {"player_x": 52, "player_y": 45, "ram_58": 58, "ram_57": 57, "ram_56": 56, "ram_93": 93, "ram_104": 104, "ram_8": 8}, opening=10
    ),
    "atari-assault": Game(
        "assault", slice(12, 192), {"gun_x": 93, "shot_y": 67, "ram_102": 102, "ram_36": 36, "ram_81": 81, "ram_37": 37, "ram_38": 38, "ram_19": 19}, thin=2
    ),
    "atari-asterix": Game(
        "asterix", slice(8, 168), {"player_x": 41, "lane": 39, "ram_19": 19, "ram_43": 43, "ram_47": 47, "ram_45": 45, "ram_44": 44, "ram_46": 46}
    ),
    "atari-atlantis": Game(
        "atlantis", slice(14, 194), {"ram_39": 39, "ram_59": 59, "ram_69": 69, "ram_70": 70, "ram_122": 122, "ram_56": 56, "ram_58": 58, "ram_57": 57}, thin=2
    ),
    "atari-bank-heist": Game(
        "bank_heist",
        slice(36, 190),
        {"car_x": 28, "car_y": 8, "ram_2": 2, "ram_33": 33, "ram_63": 63, "ram_6": 6, "ram_19": 19, "ram_78": 78},
        opening=15,
        columns=slice(10, 150),
    ),
    "atari-battle-zone": Game(
        "battle_zone",
        slice(2, 178),
        {"heading": 4, "tank_x": 48, "tank_size": 47, "ram_87": 87, "ram_64": 64, "ram_89": 89, "ram_63": 63, "ram_86": 86},
        opening=30,
    ),
    "atari-beamrider": Game(
        "beam_rider",
        slice(32, 192),
        {"ship_x": 41, "ram_26": 26, "ram_1": 1, "ram_2": 2, "ram_25": 25, "ram_27": 27, "ram_52": 52, "ram_50": 50},
        opening=55,
        thin=2,
    ),
    "atari-boxing": Game(
        "boxing",
        slice(28, 188),
        {"player_x": 32, "player_y": 34, "enemy_x": 33, "enemy_y": 35, "player_score": 18, "enemy_score": 19, "ram_93": 93, "ram_94": 94},
    ),
    "atari-chopper-command": Game(
        "chopper_command",
        slice(15, 190),
        {"chopper_x": 71, "chopper_y": 72, "ram_114": 114, "ram_17": 17, "ram_115": 115, "ram_18": 18, "ram_19": 19, "ram_69": 69},
        opening=20,
    ),
    "atari-crazy-climber": Game(
        "crazy_climber",
        slice(90, 200),
        {"climber_x": 24, "floor": 62, "ram_118": 118, "ram_105": 105, "ram_40": 40, "ram_104": 104, "ram_117": 117, "ram_21": 21},
        opening=80,
        waits=True,
        columns=slice(36, 124),
    ),
    "atari-double-dunk": Game(
        "double_dunk", slice(28, 188), {"player_x": 39, "player_y": 35, "ram_78": 78, "ram_80": 80, "ram_70": 70, "ram_76": 76, "ram_74": 74, "ram_46": 46}
    ),
    "atari-gopher": Game(
        "gopher",
        slice(70, 200),
        {"farmer_x": 31, "gopher_x": 41, "ram_73": 73, "ram_74": 74, "ram_75": 75, "ram_81": 81, "ram_85": 85, "ram_39": 39},
        opening=55,
    ),
    "atari-ice-hockey": Game(
        "ice_hockey",
        slice(34, 190),
        {"player_x": 59, "player_y": 55, "ram_8": 8, "ram_49": 49, "ram_50": 50, "ram_99": 99, "ram_16": 16, "ram_15": 15},
        opening=15,
        columns=slice(26, 134),
    ),
    "atari-jamesbond": Game(
        "jamesbond", slice(28, 188), {"car_x": 27, "car_y": 25, "ram_15": 15, "ram_60": 60, "ram_96": 96, "ram_97": 97, "ram_24": 24, "ram_59": 59}, thin=2
    ),
    "atari-kangaroo": Game(
        "kangaroo",
        slice(4, 180),
        {"player_x": 17, "player_y": 16, "ram_57": 57, "ram_19": 19, "ram_28": 28, "ram_78": 78, "ram_119": 119, "ram_33": 33},
        opening=35,
    ),
    "atari-krull": Game(
        "krull", slice(12, 180), {"player_x": 90, "player_y": 98, "ram_1": 1, "ram_2": 2, "ram_35": 35, "ram_78": 78, "ram_44": 44, "ram_76": 76}, opening=75
    ),
    "atari-ms-pacman": Game(
        "ms_pacman",
        slice(2, 172),
        {"player_x": 10, "player_y": 16, "blinky_x": 9, "blinky_y": 15, "pinky_x": 8, "pinky_y": 14, "ram_51": 51, "ram_6": 6},
        opening=65,
    ),
    "atari-name-this-game": Game(
        "name_this_game",
        slice(8, 178),
        {"diver_x": 99, "shark_x": 60, "ram_66": 66, "ram_67": 67, "ram_100": 100, "ram_63": 63, "ram_104": 104, "ram_118": 118},
        opening=100,
    ),
    "atari-phoenix": Game(
        "phoenix", slice(20, 188), {"ship_x": 94, "bird_x": 103, "ram_125": 125, "ram_96": 96, "ram_23": 23, "ram_99": 99, "ram_19": 19, "ram_25": 25}, thin=2
    ),
    "atari-pong": Game(
        "pong",
        slice(34, 194),  # a square of 160
        {"ball_x": 49, "ball_y": 54, "player_y": 51, "enemy_y": 50, "player_score": 14, "enemy_score": 13},
        begun=54,  # the ball's height is 0 when it is out of play
        goal=("player_score", 21),
        flickers=False,
        thin=2,
        legible=3.0,
    ),
    "atari-road-runner": Game(
        "road_runner",
        slice(80, 188),
        {"runner_x": 80, "runner_y": 3, "ram_118": 118, "ram_7": 7, "ram_104": 104, "ram_81": 81, "ram_1": 1, "ram_89": 89},
        opening=35,
        warm_up=8,
    ),
    "atari-robotank": Game(
        "robotank", slice(8, 174), {"heading": 62, "ram_34": 34, "ram_117": 117, "ram_2": 2, "ram_32": 32, "ram_71": 71, "ram_72": 72, "ram_63": 63}, opening=20
    ),
    "atari-seaquest": Game(
        "seaquest",
        slice(26, 186),
        {"player_x": 70, "player_y": 97, "oxygen": 102, "divers": 62, "ram_2": 2, "ram_30": 30, "ram_32": 32, "ram_31": 31},
        opening=30,
    ),
    "atari-space-invaders": Game(
        "space_invaders",
        slice(28, 198),
        {"cannon_x": 28, "invaders_x": 26, "invaders_y": 24, "invaders_left": 17, "ram_106": 106, "ram_90": 90, "ram_74": 74, "ram_81": 81},
        opening=30,
        thin=2,
    ),
    "atari-tutankham": Game(
        "tutankham",
        slice(22, 182),
        {"player_x": 7, "player_y": 106, "ram_39": 39, "ram_70": 70, "ram_76": 76, "ram_9": 9, "ram_64": 64, "ram_84": 84},
        opening=5,
    ),
    "atari-upndown": Game(
        "up_n_down",
        slice(26, 194),
        {"object_x": 41, "object_y": 57, "ram_18": 18, "ram_17": 17, "ram_20": 20, "ram_118": 118, "ram_34": 34, "ram_33": 33},
        opening=15,
    ),
    "atari-yars-revenge": Game(
        "yars_revenge",
        slice(10, 190),
        {"yar_x": 32, "yar_y": 31, "qotile_y": 42, "missile_x": 47, "missile_y": 46, "ram_54": 54, "ram_105": 105, "ram_104": 104},
        thin=2,
    ),
}
