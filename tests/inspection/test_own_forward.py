"""A user's network must compute with the weights that it is handed, keep no state, and mix no clients."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sketchbench.command.new import write
from sketchbench.plan.inspection.forward import check_slopes, fault
from sketchbench.plan.own_frontier import OwnProblem
from sketchbench.run.config.composition import user_folder

SHAPE, CLASSES = (1, 8, 8), 10
HANDED, STATE, MIXED = "the weights that it is handed", "change from call to call", "images of other clients"


class Dense(nn.Module):
    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(shape[1] * shape[2], 6), nn.Linear(6, classes)
        self.kept = [self.inner.weight, self.inner.bias]
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.out(self.inner(x.flatten(1)).relu())
        return scores


class Listed(Dense):
    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.out(nn.functional.linear(x.flatten(1), *self.kept).relu())
        return scores


class Counting(Dense):
    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return super().forward(x) / self.calls


class OwnStatistics(Dense):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x - x.mean(dim=0))


class Saving(Dense):
    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = checkpoint(super().forward, x, use_reentrant=False)
        return scores


class Recurrent(nn.Module):
    """Its weights are also in a list of torch's."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.inner, self.out = nn.LSTM(shape[2], 6, batch_first=True), nn.Linear(6, classes)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.out(self.inner(x[:, 0])[0][:, -1])
        return scores


class DoubledNorm(nn.BatchNorm2d):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def normalised(norm: Callable[[int], nn.Module]) -> Callable[..., nn.Module]:
    def make(shape: tuple[int, ...], classes: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(1, 4, 3), norm(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, classes))

    return make


def doubled(shape: tuple[int, ...], classes: int) -> nn.Module:
    model = normalised(nn.BatchNorm2d)(shape=shape, classes=classes)
    model.get_submodule("1").register_forward_hook(lambda _, __, output: 2 * output)
    return model


def one_memory(shape: tuple[int, ...], classes: int) -> nn.Module:
    first, second = nn.Linear(64, 64), nn.Linear(64, 64)
    second.weight = nn.Parameter(first.weight.t())
    return nn.Sequential(nn.Flatten(), first, nn.Tanh(), second, nn.Linear(64, classes))


def one_class_normed(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.BatchNorm1d(6), nn.Linear(6, classes))


def spectral(shape: tuple[int, ...], classes: int) -> nn.Module:
    model = Dense(shape, classes)
    nn.utils.parametrizations.spectral_norm(model.inner)
    return model


def slopes_doubled(shape: tuple[int, ...], classes: int) -> nn.Module:
    model = Dense(shape, classes)
    model.inner.register_full_backward_hook(lambda _, given, __: tuple(one and 2 * one for one in given))
    return model


FAULTS = {
    "a list": (Listed, HANDED),
    "one memory": (one_memory, HANDED),
    "a subclass of batch normalisation": (normalised(DoubledNorm), HANDED),
    "a hook at batch normalisation": (doubled, HANDED),
    "a count of calls": (Counting, STATE),
    "a spectral norm": (spectral, STATE),
    "statistics of a batch": (OwnStatistics, MIXED),
    "BatchNorm1d": (one_class_normed, "changes the buffer 2.running_mean"),
    "statistics of images": (
        normalised(lambda n: nn.InstanceNorm2d(n, track_running_stats=True)),
        "changes the buffer 1.running_mean",
    ),
}
SOUND = [Dense, Recurrent, Saving, normalised(nn.BatchNorm2d), normalised(lambda n: nn.GroupNorm(2, n))]


@pytest.mark.parametrize("name", FAULTS)
def test_what_no_training_could_follow_is_refused(name: str) -> None:
    make, words = FAULTS[name]
    assert words in fault(make, SHAPE, CLASSES)


@pytest.mark.parametrize("make", SOUND)
def test_other_networks_are_sound(make: Callable[..., nn.Module]) -> None:
    before = torch.get_rng_state()
    assert fault(make, SHAPE, CLASSES) == ""
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("make", [Saving, slopes_doubled, Listed])
def test_what_torch_func_can_not_differentiate_is_refused_by_name(make: Callable[..., nn.Module]) -> None:
    with pytest.raises(ValueError, match=r"torch\.func can't differentiate it"):
        check_slopes(make, SHAPE, CLASSES, "numpy")


@pytest.mark.parametrize(("make", "classes"), [(Dense, 10), (Recurrent, 2), (Dense, 1)])
def test_gradients_of_sound_networks_are_backwards(make: Callable[..., nn.Module], classes: int) -> None:
    check_slopes(make, SHAPE, classes, "numpy")


def test_a_frontier_of_ones_own_refuses_it(tmp_path: Path) -> None:
    path, module = write("model", "saving", tmp_path)
    body = "torch.utils.checkpoint.checkpoint(self.body, images, use_reentrant=False)"
    module.write_text("import torch.utils.checkpoint\n" + module.read_text().replace("self.body(images)", body))
    user_folder(tmp_path)
    with pytest.raises(ValueError, match=r"torch\.func can't differentiate it"):
        _ = OwnProblem("digits", path.stem, {}, "numpy", 0, tmp_path).layout


class Widened(torch.autograd.Function):
    """The identity, whose gradient depends on who asks: twice as large for backward()."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def setup_context(ctx: object, inputs: object, output: object) -> None:
        pass

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> Tensor:
        return gradients[0] if torch._C._are_functorch_transforms_active() else 2 * gradients[0]


class TwoSlopes(Dense):
    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = Widened.apply(super().forward(x))  # type: ignore[no-untyped-call]
        return scores


def test_another_gradient_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"TwoSlopes: its gradient by torch\.func is not that of backward"):
        check_slopes(TwoSlopes, SHAPE, CLASSES, "numpy")
