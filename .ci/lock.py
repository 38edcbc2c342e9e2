"""Write the locks from the newest releases, or check with --check that the index has what they say.

Both ask the index for metadata, and download nothing else. No setting of pip or uv counts but PIP_INDEX_URL, so that a
wheel that lies on one machine can't hide what others would get.
"""

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
LINUX = "x86_64-manylinux_2_28"  # where every locked file is looked for
# What has no wheel, and is built with the setuptools of requirements-build.lock.
SOURCES = ("antlr4-python3-runtime", "connection-pool", "srrcomp")
EVERYWHERE = {  # the parts of the marker that pyproject.toml has for all of them
    "implementation_name == 'cpython'",
    "platform_machine == 'x86_64'",
    "platform_python_implementation == 'CPython'",
    "python_full_version < '3.14'",
    "sys_platform == 'linux'",
}
BASE, TORCH = "requirements.lock", "requirements-torch.lock"
# Flower and clients of clouds need other versions of a few packages, and tests compile with a newer NVRTC than torch's.
# All other locks can be installed together.
FLOWER, NVRTC, STORAGE = APART = ("requirements-flower.lock", "requirements-nvrtc.lock", "requirements-storage.lock")
OF_TORCH = re.compile(r"(cuda|nvidia)-|(torch|triton)==")  # torch, and what a build of it for the CPU has no use for
EXTRAS = {  # by lock: the extras of which it has what requirements.lock lacks
    BASE: ("test",),
    TORCH: ("torch",),
    "requirements-bench.lock": ("bench",),
    "requirements-cuda.lock": ("gpu",),
    FLOWER: ("flower",),
    "requirements-site.lock": ("site", "test-site"),
    "requirements-slurm.lock": ("slurm",),
    STORAGE: ("test-storage",),
}
ALONE = {  # by lock: packages that it has without what they need
    "requirements-bench.lock": ("srrcomp",),  # whose build needs torch
    "requirements-build.lock": ("setuptools",),
    NVRTC: ("nvidia-cuda-nvrtc",),
    "requirements-uv.lock": ("uv",),
}
LOCKS = tuple(dict.fromkeys((*EXTRAS, *ALONE)))
Entries = dict[str, frozenset[str]]  # by `name==version ; marker`: the hashes of its files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        for name, entries in resolve({}).items():
            (ROOT / name).write_text(written(entries), encoding="utf-8")
        return
    locked = {name: read((ROOT / name).read_text(encoding="utf-8")) for name in LOCKS}
    found = resolve(locked)
    wrong = [line for name in LOCKS for line in differences(name, locked[name], found[name])]
    sets = [*([name] for name in APART), [name for name in LOCKS if name not in APART]]
    with ThreadPoolExecutor() as pool:  # which wait for the index
        list(pool.map(find_wheels, *zip(*itertools.product(PYTHONS, sets), strict=True)))
    print("\n".join(wrong or [f"{len(LOCKS)} locks resolve for Python {', '.join(PYTHONS)}"]))
    sys.exit(1 if wrong else 0)


def resolve(locked: dict[str, Entries]) -> dict[str, Entries]:
    """The entries of each lock: at the locked versions, or at the newest where nothing is locked."""
    together = [extra for name, extras in EXTRAS.items() if name not in APART for extra in extras]
    pins = [line for name in LOCKS if name not in APART for line in locked.get(name, {})]
    pins = pins or [*compiled(extras=together)]
    tested = compiled(pins, EXTRAS[BASE])
    made = {BASE: {line: hashes for line, hashes in tested.items() if not OF_TORCH.match(line)}}
    made[TORCH] = {line: tested[line] for line in tested.keys() - made[BASE].keys()}
    base = {pin(line) for line in made[BASE]}
    for name in LOCKS[2:]:
        these = pins
        if name in APART:
            own = [*locked.get(name, {})]
            named = {line.partition("==")[0] for line in own}
            these = [*own, *(line for line in made[BASE] if own and line.partition("==")[0] not in named)]
        found = compiled(these, EXTRAS[name]) if name in EXTRAS else {}
        made[name] = {line: hashes for line, hashes in found.items() if pin(line) not in base}
        made[name] |= compiled(these, alone=ALONE[name]) if name in ALONE else {}
    return made


def pin(line: str) -> str:
    """`name==version`, without the marker that says where it is needed."""
    return line.partition(" ")[0]


def compiled(pins: Iterable[str] = (), extras: Iterable[str] = (), alone: Iterable[str] = ()) -> Entries:
    """What uv resolves for all Pythons at once, at the versions of `pins`: extras of the project, or packages alone."""
    with tempfile.TemporaryDirectory() as folder:
        constraints, asked = Path(folder, "pins.txt"), Path(folder, "asked.in")
        constraints.write_text("\n".join(pins), encoding="utf-8")
        asked.write_text("\n".join(alone), encoding="utf-8")
        options = ["--universal", "--python-version", PYTHONS[0], "--generate-hashes", "--constraint", constraints]
        wanted = ["--no-deps", asked] if alone else ["pyproject.toml", *(f"--extra={extra}" for extra in extras)]
        return read(uv(*options, *wanted))


def uv(*arguments: object) -> str:
    """What `uv pip compile` prints, without any setting of this machine. Ends the program where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    environment |= {"XDG_CONFIG_HOME": "/nonexistent", "XDG_CONFIG_DIRS": "/nonexistent"}  # uv's own settings are there
    if index := os.environ.get("PIP_INDEX_URL"):
        environment["UV_DEFAULT_INDEX"] = index
    command = [sys.executable, "-m", "uv", "--quiet", "pip", "compile", "--no-header", "--no-annotate"]
    command += map(str, arguments)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[3:])}\n{done.stderr}")
    return done.stdout


def read(text: str) -> Entries:
    """The entries of a lock; the parts of a marker that all of them have are left out."""
    entries = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        line, *hashes = entry.replace("\\\n", " ").split("--hash=")
        pinned, _, marker = line.strip().partition(" ; ")
        own = [part for part in marker.split(" and ") if part not in EVERYWHERE]
        entries[" ; ".join(filter(None, [pinned, " and ".join(own)]))] = frozenset(one.strip() for one in hashes)
    return entries


def written(entries: Entries) -> str:
    """A lock, as `read` reads it."""
    return "".join(
        " \\\n    ".join([line, *(f"--hash={one}" for one in sorted(hashes))]) + "\n"
        for line, hashes in sorted(entries.items())
    )


def differences(name: str, locked: Entries, found: Entries) -> list[str]:
    """Where a lock is not what its extras resolve to. A file that the index has in addition is none."""
    lines = [f"{name}: {line} is not needed by its extras" for line in locked.keys() - found.keys()]
    lines += [f"{name}: {line} is missing" for line in found.keys() - locked.keys()]
    for line in locked.keys() & found.keys():
        if not locked[line] or not locked[line] <= found[line]:
            lines.append(f"{name}: {line} has a hash that is of no file of the index, or none")
    return sorted(lines)


def find_wheels(python: str, locks: Sequence[str]) -> None:
    """End the program where these locks have something that has no wheel for this Python on Linux."""
    wheels = ["--only-binary=:all:", *(f"--no-binary={name}" for name in SOURCES)]
    uv(*wheels, "--no-deps", "--python-version", python, "--python-platform", LINUX, *locks)


if __name__ == "__main__":
    main()
