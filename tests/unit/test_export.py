"""Exports come back frame-exact and action-exact, by the other format's own reader where it has one here."""

import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from helpers.stores import make_store, store_path
from veridream.io.episode_store import StoreError, open_store
from veridream.io.export_lerobot import export_lerobot
from veridream.io.export_minari import export_minari

LENGTHS = (7, 12, 5)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = store_path(tmp_path_factory.mktemp("export"), task="pygame-pong", behaviour="switched")
    return open_store(make_store(path, LENGTHS, task="pygame-pong", behaviour="switched", size=16))


def test_minari_reads_back_the_same_episodes(store, tmp_path):
    path = export_minari(store, tmp_path)
    import minari

    dataset = minari.load_dataset("/".join(path.relative_to(tmp_path).parts))
    names, episodes = dataset.storage.metadata["acted_names"], list(dataset.iterate_episodes())
    assert names == store.attrs.acted_names and len(names) == 5
    assert len(episodes) == len(LENGTHS)
    for i, e in enumerate(episodes):
        rows = store.rows(i)
        np.testing.assert_array_equal(e.observations, store.frame[rows])
        np.testing.assert_array_equal(e.actions, store.prev_action[rows][1:, : store.attrs.action_dim])
        np.testing.assert_array_equal(e.rewards, store.reward[rows][1:])
        np.testing.assert_array_equal(e.infos["acted"], store.acted[rows])
        assert len(e.observations) == LENGTHS[i] == len(e.actions) + 1
        assert (e.terminations | e.truncations).tolist() == [False] * (LENGTHS[i] - 2) + [True]
    with pytest.raises(StoreError, match="exists already"):
        export_minari(store, tmp_path)


def test_lerobot_tables_hold_the_same_episodes(store, tmp_path):
    path = export_lerobot(store, tmp_path)
    info = json.loads((path / "meta/info.json").read_text())
    table = pq.read_table(path / info["data_path"].format(chunk_index=0, file_index=0)).to_pydict()
    assert set(info["features"]) == set(table) and info["total_frames"] == sum(LENGTHS) == len(table["index"])
    behaviours = pq.read_table(path / "meta/behaviours.parquet").to_pydict()
    assert behaviours == {"behaviour_index": [0, 1, 2, 3, 4], "behaviour": store.attrs.acted_names}
    episodes = pq.read_table(path / "meta/episodes/chunk-000/file-000.parquet").to_pydict()
    assert episodes["length"] == list(LENGTHS)
    frames = [np.asarray(Image.open(io.BytesIO(row["bytes"]))) for row in table["observation.image"]]
    for i, (start, stop) in enumerate(zip(episodes["dataset_from_index"], episodes["dataset_to_index"], strict=True)):
        rows = store.rows(i)
        np.testing.assert_array_equal(np.stack(frames[start:stop]), store.frame[rows])
        np.testing.assert_array_equal(table["action"][start : stop - 1], store.prev_action[rows][1:, : store.attrs.action_dim])
        np.testing.assert_array_equal(np.float32(table["next.reward"][start : stop - 1]), store.reward[rows][1:])
        assert table["behaviour_index"][start : stop - 1] == store.acted[rows][1:].tolist()
        assert table["behaviour_index"][stop - 1] == store.acted[rows][-1]
        assert table["next.done"][start:stop] == [False] * (LENGTHS[i] - 1) + [True]
        assert table["frame_index"][start:stop] == list(range(LENGTHS[i]))
    with pytest.raises(StoreError, match="exists already"):
        export_lerobot(store, tmp_path)


def test_another_zarr_reader_opens_the_store_itself(store):
    import tensorstore as ts

    frames = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(store.path / "frame")}}).result()
    np.testing.assert_array_equal(frames.read().result(), store.frame[:])
