"""What a fuzzer needs to know of a reader."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

Subject = dict[str, bytes]  # files of a folder by their names


class Reader(NamedTuple):
    """A way into the house.

    subjects:   valid folders, each a dict of its files
    read:       reads the folder at a path
    damages:    names of the files that are damaged; None is all of them
    repair:     makes hashes and sizes right again after damage, as an enemy would
    names_file: whether its messages must name the folder or a file in it
    """

    name: str
    subjects: Callable[[], Sequence[Subject]]
    read: Callable
    damages: tuple[str, ...] | None = None
    repair: Callable[[Subject], Subject] | None = None
    names_file: bool = True
