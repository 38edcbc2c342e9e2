"""The processes of a group: what they send each other, and what they must share."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

Wait = Callable[[], Tensor]  # until a collective has ended


class Processes:
    """The collectives of a group.

    Arguments:
        group: of processes; None for all.

    Attributes:
        sent: bytes of the tensors that this process has handed to them.
    """

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self.group = group
        self.sent = 0

    @property
    def rank(self) -> int:
        return dist.get_rank(self.group) if dist.is_initialized() else 0

    @property
    def size(self) -> int:
        return dist.get_world_size(self.group) if dist.is_initialized() else 1

    def sum(self, own: Tensor) -> Wait:
        """Begin the sum of all processes' tensors, which takes the place of this process's."""
        return self._begin(own, own, lambda: dist.all_reduce(own, group=self.group, async_op=True))

    def gather(self, own: Tensor) -> Wait:
        """Begin to gather all processes' tensors (n,): (processes, n)."""
        every = own.new_empty(self.size, len(own))
        return self._begin(own, every, lambda: dist.all_gather(list(every), own, group=self.group, async_op=True))

    def _begin(self, own: Tensor, filled: Tensor, collective: Callable[[], dist.Work]) -> Wait:
        self.sent += own.numel() * own.element_size()
        with _others("begin a collective"):
            work = collective()

        def wait() -> Tensor:
            with _others("end a collective"):
                work.wait()
            return filled

        return wait

    def any(self, flags: Sequence[bool], device: torch.device) -> list[bool]:
        """Return for each flag whether a process has it."""
        own = torch.tensor(flags, dtype=torch.uint8, device=device)
        return [bool(count) for count in self.sum(own)().tolist()]

    def agree(self, facts: Mapping[str, str], error: Exception | None = None) -> None:
        """Compare what all processes must share, by one collective, which all processes leave in the same way.

        Arguments:
            facts: texts by name.
            error: of this process, which ends the others, too.

        Raises:
            ValueError: if a fact differs, or another process has an error.
        """
        every: list[tuple[dict[str, str], str]] = [({}, "")] * self.size
        with _others("compare their settings"):
            dist.all_gather_object(every, (dict(facts), f"{error}" if error else ""), group=self.group)
        if error is not None:
            raise error
        for rank, (theirs, failed) in enumerate(every):
            if failed:
                raise ValueError(f"process {rank} of {self.size} can't begin: {failed}")
            for name, first in every[0][0].items():
                if theirs[name] != first:
                    raise ValueError(
                        f"processes must share their {name}: it is {first} in process 0, and {theirs[name]} in "
                        f"process {rank}; give all of them the same"
                    )


@contextlib.contextmanager
def _others(what: str) -> Iterator[None]:
    """Say that the cause of a failed collective is in another process."""
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(
            f"the processes could not {what}, as another one has ended, or doesn't answer ({str(error).strip()}); read "
            "the other processes' errors, and start all again"
        ) from error
