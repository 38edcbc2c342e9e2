"""Records of the emulated device say so, and are none of a device."""

import pytest

from sketchbench.kernels import device
from sketchbench.run.signature import signature

CONFIG = {"task": {"_target_": "sketchbench.task.sketches.norms.Norms"}, "kernels": "cupy", "seed": 1}


@pytest.mark.parametrize(("emulated", "name"), [(True, "cupy-emulated"), (False, "cupy")])
def test_what_records_say(monkeypatch: pytest.MonkeyPatch, emulated: bool, name: str) -> None:
    monkeypatch.setattr(device, "on_emulated_device", lambda: emulated)
    assert device.recorded_name("cupy") == name
    assert [device.recorded_name(other) for other in ("numpy", "numba")] == ["numpy", "numba"]


def test_a_record_of_one_is_not_taken_for_one_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def signatures(kernels: str) -> set[str]:
        made = set()
        for emulated in (True, False):
            monkeypatch.setattr(device, "on_emulated_device", lambda emulated=emulated: emulated)
            made.add(signature({**CONFIG, "kernels": kernels}))
        return made

    assert len(signatures("cupy")) == 2
    assert len(signatures("numba")) == 1
