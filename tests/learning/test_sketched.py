"""Sketched layers, against autograd through dense matrices: values, gradients, and gradients of gradients."""

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from configs import NAMES, family
from torch import Tensor, nn
from torch.autograd import forward_ad

from sketchbench.kernels import Kernels, load
from sketchbench.learning.model import autograd, sketched
from sketchbench.learning.model.blind import BlindLinear, make_blind
from sketchbench.learning.model.sketched import SketchedConv2d, SketchedLinear, resize
from sketchbench.sketch import CountSketch, Family, SubsampledHadamard

D, OUT, KEY = 24, 5, 7
CASES = [
    ("wide", lambda f: SketchedLinear(D, 40, f), (3, D)),  # fewer inputs than outputs
    ("narrow", lambda f: SketchedLinear(D, 2, f), (2, 4, D)),
    ("convolution", lambda f: SketchedConv2d(6, OUT, 2, f, padding=1), (2, 6, 4, 5)),
    ("strided", lambda f: SketchedConv2d(6, OUT, 2, f, padding=1, stride=2), (2, 6, 4, 5)),
]
EACH = pytest.mark.parametrize("name", NAMES)


def dense(layer: Any, x: Tensor) -> Tensor:
    S = torch.from_numpy(layer.operator.materialize()).T
    weight = layer.weight.flatten(1)
    if isinstance(layer, SketchedLinear):
        return (x @ S) @ (weight @ S).T + layer.bias
    geometry = {"padding": layer.padding, "stride": layer.stride}
    patches = nn.functional.unfold(x, layer.kernel_size, **geometry).transpose(1, 2)
    z = (patches @ S) @ (weight @ S).T + layer.bias
    height = (x.shape[2] + 2 * layer.padding[0] - layer.kernel_size[0]) // layer.stride[0] + 1
    return z.transpose(1, 2).reshape(len(x), len(weight), height, -1)


def gradients(z: Tensor, x: Tensor, layer: nn.Module, G: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(z, (x, *layer.parameters()), G)


@EACH
@pytest.mark.parametrize(("case", "make", "shape"), CASES, ids=[case for case, _, _ in CASES])
def test_values_and_gradients(name: str, case: str, make: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    layer = make(family(name)).double()
    layer.draw(KEY, load("numba"))
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    ours, theirs = layer(x), dense(layer, x)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    G = torch.randn_like(ours)
    found = gradients(ours, x, layer, G)
    for a, b in zip(found, gradients(theirs, x, layer, G), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@EACH
def test_twice_differentiable(name: str) -> None:
    torch.manual_seed(1)
    operator = family(name).draw(KEY, kernels="numba")
    x = torch.randn(2, D, dtype=torch.float64, requires_grad=True)
    y = torch.randn(2, operator.b, dtype=torch.float64, requires_grad=True)
    # A nonlinearity, so that second derivatives aren't 0.
    for function, v in (
        (lambda v: autograd.sketch(operator, v).sin(), x),
        (lambda v: autograd.desketch(operator, v).sin(), y),
        (lambda v: autograd.project(operator, v).sin(), x),
    ):
        assert torch.autograd.gradcheck(function, v)
        assert torch.autograd.gradgradcheck(function, v)


@pytest.mark.parametrize(("case", "make", "shape"), CASES, ids=[case for case, _, _ in CASES])
def test_layers_are_twice_differentiable(case: str, make: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(2)
    layer = make(CountSketch(D, 8)).double()
    layer.draw(KEY, load("numba"))
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in layer.named_parameters()]

    def function(x: Tensor, *parameters: Tensor) -> Any:
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(layer, given, x).sin()

    inputs = (x, *layer.parameters())
    assert torch.autograd.gradcheck(function, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


def test_a_wrong_transpose_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = CountSketch(D, 8).draw(KEY, kernels="numba")
    right = operator.desketch
    monkeypatch.setattr(operator, "desketch", lambda y, **given: 2 * right(y, **given))
    x = torch.randn(2, D, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(lambda v: autograd.sketch(operator, v), x)


def test_memory_is_shared() -> None:
    operator = CountSketch(D, 8).draw(KEY, kernels="numpy")
    seen: list[Any] = []
    inner = operator._sketch

    def spy(x: Any) -> Any:
        seen.extend([x, inner(x)])
        return seen[1]

    operator._sketch = spy  # type: ignore[method-assign]
    x = torch.randn(3, D)
    y = autograd.sketch(operator, x)
    assert seen[0].ctypes.data == x.data_ptr()
    assert seen[1].ctypes.data == y.data_ptr()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_backend(kernels: Kernels, dtype: torch.dtype) -> None:
    device = "cuda" if kernels.NAME == "cupy" else "cpu"
    torch.manual_seed(3)
    layer = SketchedLinear(D, OUT, SubsampledHadamard(D, 8)).to(device, dtype)
    layer.draw(KEY, kernels)
    x = torch.randn(3, D, dtype=dtype)
    ours = layer(x.to(device))
    ours.square().sum().backward()
    assert layer.weight.grad is not None
    other = SketchedLinear(D, OUT, SubsampledHadamard(D, 8)).to(dtype=dtype)
    other.load_state_dict({k: v.cpu() for k, v in layer.state_dict().items()})
    other.draw(KEY, load("numpy"))
    torch.testing.assert_close(ours.cpu(), other(x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_widened(dtype: torch.dtype) -> None:
    """No kernel computes in it: the same as float32, with gradients that come back in half."""
    operator = CountSketch(12, 6).draw(5, kernels="numpy")
    x = torch.randn(3, 12, dtype=dtype, requires_grad=True)
    for function in (autograd.sketch, autograd.project):
        found = function(operator, x)
        assert found.dtype == torch.float32
        assert torch.equal(found, function(operator, x.detach().float()))
        (gradient,) = torch.autograd.grad(found.square().sum(), x)
        assert gradient.dtype == dtype


HALVES = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])


@HALVES
@pytest.mark.parametrize(("case", "make", "shape"), CASES, ids=[case for case, _, _ in CASES])
def test_layers_in_half_precision(dtype: torch.dtype, case: str, make: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(4)
    layer = make(CountSketch(D, 8)).to(dtype)
    layer.draw(KEY, load("numba"))
    x = torch.randn(shape, dtype=dtype, requires_grad=True)
    wide = copy.deepcopy(layer).float()
    z, exact = layer(x), wide(v := x.detach().float().requires_grad_())
    assert z.dtype == dtype
    G = torch.randn_like(z)
    found = (z, *gradients(z, x, layer, G))
    for a, b in zip(found, (exact, *gradients(exact, v, wide, G.float())), strict=True):
        assert a.dtype == dtype
        assert (a.float() - b).abs().max() <= 4 * torch.finfo(dtype).eps * b.abs().max()


@HALVES
@pytest.mark.parametrize(("case", "make", "shape"), CASES, ids=[case for case, _, _ in CASES])
def test_blind_layers_in_half_precision(dtype: torch.dtype, case: str, make: Any, shape: tuple[int, ...]) -> None:
    layer = make_blind(nn.Sequential(make(CountSketch(D, 8))))[0].to(dtype)
    nn.init.normal_(layer.weight)
    layer.draw(KEY, load("numba"))
    x = torch.randn(shape, dtype=dtype)
    exact = copy.deepcopy(layer).float()(x.float())
    z = layer(x)
    z.sum().backward()
    assert z.dtype == layer.weight.grad.dtype == dtype
    assert (z.float() - exact).abs().max() <= 4 * torch.finfo(dtype).eps * exact.abs().max()


@HALVES
@pytest.mark.parametrize(("case", "make", "shape"), CASES, ids=[case for case, _, _ in CASES])
def test_autocast(dtype: torch.dtype, case: str, make: Any, shape: tuple[int, ...]) -> None:
    """Weights and sketches stay in float32, for inputs in either precision; products are in half."""
    layer = make(CountSketch(D, 8))
    layer.draw(KEY, load("numba"))
    for x in (torch.randn(shape), torch.randn(shape, dtype=dtype)):
        exact = layer(x.float())
        with torch.autocast("cpu", dtype):
            z = layer(x)
        assert z.dtype == dtype
        assert (z.float() - exact).abs().max() <= 8 * torch.finfo(dtype).eps * exact.abs().max()
        z.float().sum().backward()
        assert layer.weight.grad.dtype == torch.float32


@EACH
@pytest.mark.parametrize(("case", "make", "shape"), CASES, ids=[case for case, _, _ in CASES])
def test_transforms_of_torch_func(name: str, case: str, make: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(5)
    layer = make(family(name)).double()
    layer.draw(KEY, load("numpy"))
    given, x = dict(layer.named_parameters()), torch.randn(shape, dtype=torch.float64)

    def loss(given: dict[str, Tensor], x: Tensor) -> Any:
        return torch.func.functional_call(layer, given, x[None]).sin().sum()

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, -1))(given, x.movedim(0, -1))
    for number, one in enumerate(x):
        expected = torch.autograd.grad(loss(given, one), list(given.values()))
        for a, b in zip(each.values(), expected, strict=True):
            torch.testing.assert_close(a[number], b)
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        for a, b in zip(transform(loss)(given, x[-1]).values(), expected, strict=True):
            torch.testing.assert_close(a, b)


def test_vmap_over_layers_and_over_none() -> None:
    layers = [SketchedLinear(D, 40, CountSketch(D, 8)) for _ in range(3)]
    for layer in layers:
        layer.draw(KEY, load("numba"))
    given, _ = torch.func.stack_module_state(layers)
    x = torch.randn(2, D)
    for at in (None, 0):
        inputs = x if at is None else torch.stack([x] * 3)
        z = torch.func.vmap(lambda p, x: torch.func.functional_call(layers[0], p, x), in_dims=(0, at))(given, inputs)
        for ours, layer in zip(z, layers, strict=True):
            torch.testing.assert_close(ours, layer(x))


def test_forward_differentiation_outside_of_torch_func() -> None:
    operator = CountSketch(D, 8).draw(KEY, kernels="numba")
    x, tangent = torch.randn(D), torch.randn(D)
    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(autograd.sketch(operator, forward_ad.make_dual(x, tangent)))
    assert torch.equal(dual.tangent, autograd.sketch(operator, tangent))


def test_compiled() -> None:
    """Sketches stay out of graphs, new operators need no new graph, and a graph of the whole model is refused."""
    layers = SketchedLinear(D, 40, CountSketch(D, 8)), nn.ReLU(), SketchedLinear(40, 2, CountSketch(40, 8))
    model, x = nn.Sequential(*layers), torch.randn(3, D)
    try:
        compiled = torch.compile(model, backend="eager")
        for key in range(3):
            sketched.draw(model, key, load("numba"))
            with torch.compiler.set_stance("fail_on_recompile" if key else "default"):
                z = compiled(x)
            assert torch.equal(z, model(x))
        expected = torch.autograd.grad(model(x).sum(), list(model.parameters()))
        assert all(map(torch.equal, torch.autograd.grad(z.sum(), list(model.parameters())), expected))
        torch.compiler.reset()
        with pytest.raises(Exception, match="sketches stay out of compiled graphs; compile with fullgraph=False"):
            torch.compile(model, backend="eager", fullgraph=True)(x)
    finally:
        torch.compiler.reset()


def test_copies_of_a_model() -> None:
    model = nn.Sequential(SketchedLinear(D, 5, CountSketch(D, 8)), nn.Flatten())
    sketched.draw(model, KEY, load("numba"))
    x = torch.randn(3, D)
    memory, state = io.BytesIO(), io.BytesIO()
    torch.save(model, memory)
    torch.save(model.state_dict(), state)
    for file in (memory, state):
        file.seek(0)
    loaded = torch.load(memory, weights_only=False)
    for other in (loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(x), model(x))
        assert sketched.operators(other) == sketched.operators(model)
        nn.init.zeros_(other[0].weight)
        other.load_state_dict(torch.load(state, weights_only=True))
        state.seek(0)
        assert torch.equal(other(x), model(x))
    replica = model[0]._replicate_for_data_parallel()
    replica.weight, replica.bias = model[0].weight, model[0].bias
    assert torch.equal(replica(x), model(x))


def test_evaluation_is_plain() -> None:
    layer = SketchedLinear(D, OUT, CountSketch(D, 8)).eval()
    x = torch.randn(3, D)
    assert torch.equal(layer(x), nn.functional.linear(x, layer.weight, layer.bias))
    convolution = SketchedConv2d(6, OUT, 2, CountSketch(D, 8)).eval()
    x = torch.randn(3, 6, 5, 5)
    plain = nn.functional.conv2d(x, convolution.weight, convolution.bias)
    assert torch.equal(convolution(x), plain)


def test_layers_have_operators_of_their_own() -> None:
    f = CountSketch(D, 8)
    model = nn.Sequential(SketchedLinear(D, D, f), nn.ReLU(), SketchedLinear(D, 2, f))

    def drawn(key: int) -> list[Tensor]:
        sketched.draw(model, key, load("numpy"))
        operators = sketched.operators(model).values()
        return [torch.from_numpy(operator.materialize()) for operator in operators]

    first, second = drawn(1)
    assert not torch.equal(first, second)
    assert torch.equal(first, drawn(1)[0])
    assert not torch.equal(first, drawn(2)[0])


@pytest.mark.parametrize(("inputs", "expected"), [(784, 392), (200, 100), (25, 12), (1, 1), (800, 400)])
def test_resized(inputs: int, expected: int) -> None:
    assert resize(CountSketch(784, 392), inputs) == CountSketch(inputs, expected)


def test_errors() -> None:
    f: Family = CountSketch(D, 8)
    with pytest.raises(ValueError, match="the sketch's d=24 must be the layer's inputs, 25"):
        SketchedLinear(25, 2, f)
    with pytest.raises(ValueError, match="the sketch's d=24 must be the layer's inputs, 27"):
        SketchedConv2d(3, 2, 3, f)
    with pytest.raises(RuntimeError, match=r"has no sketch to train with; call draw\(key\) first"):
        SketchedLinear(D, 2, f)(torch.ones(2, D))
    layer = SketchedLinear(D, 2, f).to("meta")
    layer.draw(KEY, load("numpy"))
    with pytest.raises(TypeError, match="a tensor on meta can't go through numpy kernels"):
        layer(torch.ones(1, D, device="meta"))


def test_a_clients_layer_is_where_the_servers_is() -> None:
    layer = SketchedLinear(D, OUT, CountSketch(D, 8)).to("meta")
    assert {parameter.device.type for parameter in BlindLinear(layer).parameters()} == {"meta"}
