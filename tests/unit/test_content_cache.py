"""The audit reads a file again unless size, times and inode are those it knows; --deep reads all."""

import json
import os
import time

import pytest

from helpers.chain import STORES, whole_paper
from veridream.provenance.audit import audit_all
from veridream.provenance.content_cache import SETTLED_NS, ContentCache
from veridream.provenance.digest import file_sha256
from veridream.provenance.records import CACHE


@pytest.fixture
def settled(monkeypatch):
    """As if the clock stood two seconds later, so that what was just written is remembered."""
    now = time.time_ns
    monkeypatch.setattr("veridream.provenance.content_cache.time.time_ns", lambda: now() + 2 * SETTLED_NS)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    return path


def cache(file, deep=False):
    return ContentCache(file.parent / "cache.json", deep)


def test_a_known_file_is_not_read_again(file, settled):
    first = cache(file)
    assert first.sha256(file) == file_sha256(file) and (first.read, first.trusted) == (1, 0)
    first.save()
    second = cache(file)
    assert second.sha256(file) == file_sha256(file) and (second.read, second.trusted) == (0, 1)


def test_deep_reads_once_whatever_is_remembered(file, settled):
    first = cache(file)
    first.sha256(file)
    first.save()
    deep = cache(file, deep=True)
    deep.sha256(file)
    deep.sha256(file)
    assert (deep.read, deep.trusted) == (1, 1)


def test_an_edit_that_keeps_size_and_modification_time_is_read(file, settled):
    first, stat = cache(file), file.stat()
    first.sha256(file)
    first.save()
    file.write_bytes(b"two")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert file.stat().st_mtime_ns == stat.st_mtime_ns and file.stat().st_size == stat.st_size
    again = cache(file)
    assert again.sha256(file) == file_sha256(file) and again.read == 1


def test_what_was_only_just_written_is_not_remembered(file):
    first = cache(file)
    first.sha256(file)
    first.save()
    assert not (file.parent / "cache.json").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"x": 3}', '{"x": "1 2"}', '{"x": "a b c d e"}'])
def test_a_damaged_cache_is_as_none(file, settled, text):
    (file.parent / "cache.json").write_text(text)
    again = cache(file)
    assert again.sha256(file) == file_sha256(file) and again.read == 1


def test_what_is_gone_is_forgotten(file, settled):
    first = cache(file)
    other = file.with_name("y")
    other.write_bytes(b"2")
    for f in (file, other):
        first.sha256(f)
    first.save()
    other.unlink()
    again = cache(file)
    again.forget(file)
    again.sha256(file)
    again.save()
    assert set(json.loads((file.parent / "cache.json").read_text())) == {"x"}


def test_a_folder_that_cannot_be_written_is_said(file, settled):
    first = ContentCache(file.parent / "x" / "cache.json")  # its folder is a file
    first.sha256(file)
    with pytest.warns(UserWarning, match="is not remembered"):
        first.save()


def test_an_audit_after_an_audit_reads_nothing_and_a_lying_cache_accuses_nobody(tmp_path, settled):
    paper = whole_paper(tmp_path)
    first = audit_all("smoke", tmp_path, paper.now)
    second = audit_all("smoke", tmp_path, paper.now)
    assert first.files_read > 0 == second.files_read and second.files_known == first.files_read + first.files_known
    path = tmp_path / "results/smoke" / CACHE
    known = json.loads(path.read_text())
    store = f"data/{STORES[0]}.zarr/c/0"
    known[store] = known[store][:-1] + ("0" if known[store][-1] != "0" else "1")
    path.write_text(json.dumps(known))
    assert audit_all("smoke", tmp_path, paper.now).holds
    (tmp_path / "results/smoke" / store).write_bytes(b"x")
    assert not audit_all("smoke", tmp_path, paper.now).holds
    assert not audit_all("smoke", tmp_path, paper.now, deep=True).holds
