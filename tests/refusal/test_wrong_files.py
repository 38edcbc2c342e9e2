"""A wrong YAML file of a user is refused with one clear line."""

from pathlib import Path

import pytest
from reading import READ
from wrong_files import ANY, GROUPS, Edit

CASES = [(group, edit) for group, (_, edits) in GROUPS.items() for edit in edits]
CASES += [("figure", edit) for edit in ANY]


@pytest.mark.parametrize(("group", "edit"), CASES, ids=lambda value: str(value)[:60])
def test_a_wrong_file(group: str, edit: Edit, tmp_path: Path) -> None:
    old, new, words = edit
    content = new if isinstance(new, bytes) else new.encode()
    if old is not None:
        right = GROUPS[group][0]
        assert old in right, "the edit changes nothing"
        content = right.replace(old, content.decode(), 1).encode()
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is looked at below)
        READ[group](content, tmp_path)
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    assert len(message) < 3000


@pytest.mark.parametrize("group", GROUPS)
def test_the_right_files(group: str, tmp_path: Path) -> None:
    """The files that the wrong ones are edits of are read."""
    if group != "workflow":  # that plans all studies, as tests/test_plan.py does
        READ[group](GROUPS[group][0].encode(), tmp_path)
