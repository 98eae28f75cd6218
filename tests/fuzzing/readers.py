"""All readers by name."""

from . import file_readers

READERS = {reader.name: reader for reader in [*file_readers.READERS]}
