"""What a process keeps."""

from sketchbench.base.kept import Kept


def test_a_result_is_made_once_and_the_oldest_is_forgotten() -> None:
    made: list[str] = []
    kept = Kept[str, int](2)

    def of(key: str) -> int:
        return kept.of(key, lambda: made.append(key) or len(made))

    assert [of("a"), of("b"), of("a"), of("c"), of("b"), of("a")] == [1, 2, 1, 3, 2, 4]
    assert made == ["a", "b", "c", "a"]
