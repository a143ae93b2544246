"""The gallery shows every task it is given, with frames or with the reason why there are none; what it shows is escaped."""

import numpy as np

from veridream.figures.gallery import COLUMNS, Tile, page, sheet
from veridream.params.tasks import registry


def frame(value):
    return np.full((24, 24, 3), value, np.uint8)


def test_page_names_every_task_and_its_scores():
    cup, pong = registry()["cup-catch"], registry()["pygame-pong"]
    text = page([Tile(cup, (frame(10), frame(20))), Tile(pong, missing="needs <a library>")], {"cup-catch": {"random": "0.010", "expert": "0.900"}})
    assert text.count("data:image/png;base64,") == 2 and "cem expert 0.900" in text and "random 0.010" in text
    assert "needs &lt;a library&gt;" in text and "<a library>" not in text
    assert cup.instruction in text and "dmcontrol" in text and "pygame" in text


def test_sheet_has_a_place_for_every_task():
    tiles = [Tile(registry()["cup-catch"], (frame(10), frame(200)))] * (COLUMNS + 1)
    image = sheet(tiles, 24)
    assert image.shape[1] == COLUMNS * 28 + 4 and image.shape[0] == 2 * 40 + 4
    assert (image[10, 10] == 200).all(), "the mid-episode frame"
    assert (sheet([Tile(registry()["cup-catch"], missing="no")], 24)[10, 10] == 0xBB).all()
