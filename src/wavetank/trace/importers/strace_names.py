"""Which file each name in strace's logs leads to: names are made, moved and removed while a program runs.

A name that is removed and made again leads to another file; one that is renamed to leads to the file that had the old name.
"""

from __future__ import annotations


class Names:
    """Names and the numbers of their files."""

    def __init__(self) -> None:
        self._file: dict[str, int] = {}
        self._absent: set[str] = set()  # removed, or moved away, and not made again
        self._folders: set[str] = set()
        self._above: set[str] = set()  # folders that known names lie in, at whatever depth
        self._n_files = 0
        self.changed = False  # whether any name was moved or removed

    def file(self, path: str) -> int:
        """The file that a name leads to; a new one where nothing is known of the name."""
        number = self._file.get(path)
        return self.made(path) if number is None else number

    def made(self, path: str) -> int:
        """A new file under a name."""
        self._n_files += 1
        self._lead(path, self._n_files)
        return self._n_files

    def _lead(self, path: str, number: int) -> None:
        self._file[path] = number
        self._absent.discard(path)
        above = path.rpartition("/")[0]
        while above and above not in self._above:
            self._above.add(above)
            above = above.rpartition("/")[0]

    def is_absent(self, path: str) -> bool:
        """Whether a name leads to nothing, because the log has it removed or moved away."""
        return path in self._absent

    def leads_to(self, path: str, number: int) -> bool:
        """Whether a name is one of a file."""
        return self._file.get(path) == number

    def folder(self, path: str) -> None:
        """A name is a folder's."""
        self._folders.add(path)

    def is_folder(self, path: str) -> bool:
        """Whether it is known to be one."""
        return path in self._folders

    def removed(self, path: str) -> None:
        """A name is gone. Its file may be open, or have other names."""
        self._file.pop(path, None)
        self._folders.discard(path)
        self._absent.add(path)
        self.changed = True

    def linked(self, old: str, new: str) -> None:
        """A file has a further name."""
        self._lead(new, self.file(old))
        self.changed = True

    def renamed(self, old: str, new: str) -> None:
        """A file or folder has another name, and so has all that lies below."""
        number = self.file(old)
        moved = {old} & self._folders
        self.removed(old)
        self._lead(new, number)
        if old in self._above:
            below = f"{old}/"
            for path in [path for path in self._file if path.startswith(below)]:
                self._lead(f"{new}/{path[len(below) :]}", self._file.pop(path))
            moved |= {path for path in self._folders if path.startswith(below)}
        self._folders -= moved
        self._folders |= {f"{new}{path[len(old) :]}" for path in moved}
