"""What `sketchbench new` writes works as it is, and nothing is overwritten."""

from pathlib import Path

import numpy as np
import pytest

from sketchbench.command import template
from sketchbench.command.main import main
from sketchbench.inspection.check import check_folder


def test_a_new_sketch_and_a_new_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both pass the check; the sketch has the moments that its file claims, and the recovery recovers."""
    monkeypatch.chdir(tmp_path)
    main(["new", "sketch", "new_family"])
    main(["new", "recovery", "new_recovery"])
    assert "sketchbench run --folder mine task=moments sketch=new_family" in capsys.readouterr().out
    check_folder(tmp_path / "mine")

    monkeypatch.syspath_prepend(str(tmp_path / "mine"))
    from new_family import NewFamily, norm, second_moment  # type: ignore[import-not-found]
    from new_recovery import NewRecovery  # type: ignore[import-not-found]

    for s in (1, 3, 5):
        R = NewFamily(6, 4, s).draw(7, operators=100_000, kernels="numba").materialize()
        gram = R.swapaxes(-1, -2) @ R
        g, h = np.random.default_rng(0).standard_normal((2, 6))
        squares = (gram @ h @ g) ** 2
        norms = ((gram @ h) ** 2).sum(-1)
        for found, exact in ((squares, second_moment(g, h, b=4, s=s)), (norms, norm(h, b=4, s=s))):
            assert abs(found.mean() - exact) < 6 * found.std() / len(found) ** 0.5  # 2e-9 by chance

    from sketchbench.sketch import SubsampledHadamard

    x = np.zeros((2, 256))
    x[:, [3, 80, 200]] = [1.0, -2.0, 3.0]
    phi = SubsampledHadamard(256, 128, signs=False).draw(7, kernels="numpy")
    assert np.allclose(NewRecovery(3).recover(phi, phi.sketch(x)).x, x, atol=1e-2)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    config, _ = template.write("sketch", "first", tmp_path)
    config.write_text("mine")
    with pytest.raises(ValueError, match="is there already; choose another name, or remove it"):
        template.write("sketch", "first", tmp_path)
    assert config.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Upper", "must be small letters, digits and _"),
        ("a-b", "must be small letters"),
        ("../x", "must be small letters"),
        ("", "must be small letters"),
        ("class", "no word of Python"),
        ("all", "no word of Python"),
        ("srht", "is that of .*conf/sketch/srht.yaml"),
        ("numpy", "is that of a Python module"),
        ("json", "is that of a Python module"),
    ],
)
def test_bad_names(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        template.write("sketch", name, tmp_path)
    assert not list(tmp_path.iterdir())
