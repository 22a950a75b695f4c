"""What can be wrong with the book."""


class BookError(Exception):
    """A page, a link or a notebook that has to be put right: says where and what."""
