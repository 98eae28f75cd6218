"""All readers by name."""

from . import file_readers, folder_readers

READERS = {reader.name: reader for reader in [*file_readers.READERS, *folder_readers.READERS]}
