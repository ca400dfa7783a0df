from lensbench.core.errors import some_of


def test_names_beyond_the_most_are_counted() -> None:
    assert [some_of("abcd"[:count], 2) for count in range(5)] == [
        "",
        "a",
        "a, b",
        "a, b and 1 more",
        "a, b and 2 more",
    ]
