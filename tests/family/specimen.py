"""The registry of sketch families that come from outside: broken ones, and honest ones."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sketchbench.sketch.family import Family
from sketchbench.theory import norm, second_moment
from sketchbench.theory.known import Known

SIGNED = Known(2, second_moment.hashed, norm.hashed)  # of independent signs, in every entry or in one of each column
NORMAL = Known(2, second_moment.gaussian, norm.gaussian)  # of independent normal entries
NEVER: tuple[str, ...] = ()  # claims that catch a defect that no measurement of a run can see


@dataclass(frozen=True)
class Specimen:
    """A family as a user would add it.

    Attributes:
        family: the class; its parameters but d and b have defaults.
        kind: the kind of defect; "honest" without one.
        caught_by: claims of which one at least must fail, or, with a question mark, be inconclusive; `error` for a
            study that ends with an error. Empty where a run can see nothing: the class says why.
        effect: the size of the defect.
        known: what is claimed of the family.
    """

    family: type[Family]
    kind: str
    caught_by: tuple[str, ...] = ()
    effect: str = ""
    known: Known = SIGNED

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.family.__name__


BROKEN: list[Specimen] = []
HONEST: list[Specimen] = []
Class = TypeVar("Class", bound=type[Family])


def broken(kind: str, *caught_by: str, effect: str = "", known: Known = SIGNED) -> Callable[[Class], Class]:
    """Make a class a dataclass and put it on the list of broken families; arguments as of `Specimen`."""

    def register(family: Class) -> Class:
        BROKEN.append(Specimen(dataclass(frozen=True)(family), kind, caught_by, effect, known))
        return family

    return register


def honest(known: Known = SIGNED) -> Callable[[Class], Class]:
    """Make a class a dataclass and put it on the list of honest families."""

    def register(family: Class) -> Class:
        HONEST.append(Specimen(dataclass(frozen=True)(family), "honest", known=known))
        return family

    return register


def variants(base: type[Family], method: str, kind: str) -> Callable[..., None]:
    """A function that makes broken families of this kind, attributes of their method's module, as pickling asks."""

    def variant(name: str, claims: str, effect: str, function: Callable[..., Any], known: Known = SIGNED) -> None:
        family = type(name, (base,), {method: function, "__module__": function.__module__})
        register = broken(kind, *claims.split(), effect=effect, known=known)
        setattr(sys.modules[function.__module__], name, register(family))

    return variant
