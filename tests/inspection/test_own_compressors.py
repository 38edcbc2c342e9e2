"""The check of a user's compressor: the template passes, and each mistake is one line."""

from pathlib import Path

import pytest

from sketchbench.command.new import write
from sketchbench.plan.inspection.check import OwnMethod, mistakes
from sketchbench.run.config.composition import user_folder


def mistakes_of_template(folder: Path, old: str = "", new: str = "") -> list[str]:
    """The mistakes of the template with one of its parts replaced."""
    name = f"thinned_{abs(hash((old, new))) % 10**8}"
    _, module = write("compressor", name, folder)
    text = module.read_text()
    assert old in text
    module.write_text(text.replace(old, new) if old else text)
    user_folder(folder)
    return mistakes(OwnMethod("compressor", name), folder)


def test_the_template_is_sound(tmp_path: Path) -> None:
    assert mistakes_of_template(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("adds_up: ClassVar[bool] = True", "adds_up: ClassVar[int] = 2", "must say `adds_up: ClassVar[bool] = True`"),
        ("[..., : self.layout.d]", "", "a round gave a step of float32 and shape (2, 3325)"),
        ("(self.limit // WORD)", "(2 * self.limit // WORD)", "sends 3324 bytes in a round, the limit is 1906"),
        ("xp, missing = at", "x *= 2; xp, missing = at", "it changes the updates that it is given"),
        ('"""Messages (T, C, runs) to updates (T, C, d)."""', "raise KeyError('means')", "KeyError"),
    ],
)
def test_mistakes_are_listed(tmp_path: Path, old: str, new: str, words: str) -> None:
    lines = mistakes_of_template(tmp_path, old, new)
    assert len(lines) == 1
    assert words in lines[0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("sb.RandomK(layout, limit)", None),
        ("limit", "own.made made of the type int; it must be a Compressor"),
        ("sb.RandomK(layout, limit) if up else None", "own.made(*, layout, limit, up) is called as made(layout="),
    ],
)
def test_a_function_may_make_a_compressor(tmp_path: Path, call: str, words: str | None) -> None:
    module = f"own{abs(hash(call)) % 10**8}"
    parameters = "*, layout, limit, up" if "up" in call else "*, layout, limit"
    (tmp_path / f"{module}.py").write_text(f"import sketchbench as sb\n\ndef made({parameters}):\n    return {call}\n")
    (tmp_path / "compressor").mkdir()
    config = f"name: own\nlabel: Own\nalgorithm: {{_target_: {module}.made}}\n"
    (tmp_path / "compressor" / "own.yaml").write_text(config)
    user_folder(tmp_path)
    lines = mistakes(OwnMethod("compressor", "own"), tmp_path)
    assert [words.replace("own.", f"{module}.") in line if words else line for line in lines] == [True] * bool(words)
