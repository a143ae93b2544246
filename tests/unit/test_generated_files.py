"""params/base.yaml, the JSON schema and docs/params.md are what the pydantic models say."""

import pytest

import generate_params


@pytest.mark.parametrize("path", sorted(generate_params.generated()), ids=lambda p: p.name)
def test_it_is_up_to_date(path):
    assert path.read_text() == generate_params.generated()[path], "run `make params`"
