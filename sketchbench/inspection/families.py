"""A user's family: its class, its parameters, the sizes that it takes, and what it draws."""

from collections.abc import Callable, Mapping
from typing import Any

from sketchbench import parameters
from sketchbench.inspection.findings import Findings
from sketchbench.inspection.operators import check_operators
from sketchbench.inspection.targets import arguments, subclass
from sketchbench.sketch.family import Family, SizeError

# Sizes d and b to try, those of the studies among them. What a family draws is checked at the first two that it takes,
# which are small, one with an odd d if it can be.
SIZES = (
    *((16, 4), (15, 6), (24, 8), (64, 16), (640, 16), (16, 16), (24, 24), (12, 4), (64, 32), (33, 8), (100, 10)),
    *((128, 32), (1024, 512), (1024, 312), (2610, 1305), (30, 15), (8, 2), (4, 1), (1000, 48)),
)
CHECKED = 2
EXAMPLE = "my_sketches.HalfSigns"
Resolved = Callable[[int, int], Mapping[str, Any]]  # a method's section at d and b, without interpolations


def check_family(found: Findings, key: str, resolved: Resolved) -> list[Family]:
    """Add the mistakes of a family; returns it at the sizes that it takes, or nothing where it can't be made.

    Arguments:
        found: where mistakes go.
        key: of the family in the method's section, `family` or `sensing`.
        resolved: the section at given sizes.
    """
    node = resolved(*SIZES[0]).get(key)
    if node is None:
        found.add(key, f"there is none; write {key}: with a _target_ below it, such as {EXAMPLE}")
        return []
    made = subclass(found, key, node, Family, EXAMPLE)
    if made is None or not arguments(found, key, node, made, given=("d", "b")):
        return []
    taken = _sizes(found, key, made, resolved)
    before = len(found.lines)
    for family in taken[:CHECKED]:
        if len(found.lines) == before:
            check_operators(found, key, family)
    return taken


def _sizes(found: Findings, key: str, made: type, resolved: Resolved) -> list[Family]:
    """The family at all of SIZES that it takes."""
    taken: list[Family] = []
    refused = ""
    for d, b in SIZES:
        section = resolved(d, b)
        node = {name: value for name, value in section[key].items() if name != "_target_"}
        try:
            family = made(**node, d=d, b=section.get("size") or b)
        except SizeError as error:
            refused = refused or str(error)
            continue
        except BaseException as error:
            with found.running(key):
                raise error
            return []
        if not taken and not _sound(found, key, family):
            return []
        taken.append(family)
    if not taken:
        sizes = ", ".join(f"d={d} b={b}" for d, b in SIZES)
        found.add(key, f"{made.__name__} takes none of the sizes {sizes}; of the first it says: {refused}")
    return taken


def _sound(found: Findings, key: str, family: Any) -> bool:
    """Whether the parameters are of their types, and the family is written the same way in every process."""
    try:
        parameters.check(family)
    except (ValueError, TypeError) as error:
        found.add(key, str(error))
        return False
    except Exception:  # types that can't be read are no mistake
        pass
    if " at 0x" in repr(family):
        found.add(
            key,
            f"{repr(family)[:80]} names a place in memory, which differs from run to run; a parameter must be a number,"
            " a text, or a list of them",
        )
        return False
    return True
