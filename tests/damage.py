"""Damaged files: a bit flipped, an end cut off, bytes put in, blocks swapped or emptied."""

from hypothesis import strategies as st


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """What a disk, a copy or an editor may make of a file."""
    kind = draw(st.sampled_from(["flip", "cut", "insert", "swap", "zeros", "twice"]))
    place = draw(st.integers(0, len(whole) - 1))
    length = draw(st.integers(1, 64))
    other = draw(st.integers(0, len(whole) - 1))
    content = bytearray(whole)
    if kind == "flip":
        content[place] ^= 1 << draw(st.integers(0, 7))
    elif kind == "cut":
        del content[place:]
    elif kind == "insert":
        content[place:place] = draw(st.binary(min_size=1, max_size=8))
    elif kind == "swap":
        first, second = sorted((place, other))
        length = min(length, second - first)
        block = content[first : first + length]
        content[first : first + length] = content[second : second + length]
        content[second : second + len(block)] = block
    elif kind == "zeros":
        content[place : place + length] = bytes(len(content[place : place + length]))
    else:
        content += content[place:]
    return bytes(content)
