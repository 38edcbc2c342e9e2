"""A wrong file of a user's is one clear line that names it."""

from pathlib import Path

import pytest
from reading import READ
from wrong_files import ANY, GROUPS, Edit

CASES = [(group, edit) for group, (_, edits) in GROUPS.items() for edit in edits]
GENERAL = [(group, edit) for edit in ANY for group in GROUPS]


@pytest.mark.parametrize(("group", "edit"), [*CASES, *GENERAL], ids=lambda value: str(value)[:60])
def test_a_wrong_file(group: str, edit: Edit, tmp_path: Path) -> None:
    old, new, words = edit
    content = new if isinstance(new, bytes) else new.encode()
    if old is not None:
        right = GROUPS[group][0]
        assert old in right, "the edit changes nothing"
        content = right.replace(old, content.decode(), 1).encode()
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is looked at below)
        READ[group](content, tmp_path)
    said = str(caught.value)
    assert words in said
    assert "\n" not in said
    assert len(said) < 3000


@pytest.mark.parametrize("group", GROUPS)
def test_the_right_files(group: str, tmp_path: Path) -> None:
    """What the wrong ones were made of."""
    if group != "workflow":  # that plans all studies, as tests/test_plan.py does
        READ[group](GROUPS[group][0].encode(), tmp_path)
