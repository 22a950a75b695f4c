"""What dropping the page cache of a kernel's files says."""

from __future__ import annotations

import kernel_models as km

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.preparation.input_files import prepare_files
from wavetank.kernel.preparation.page_cache import drop_cached


def test_where_no_file_is_there_nothing_was_cold(tmp_path):
    made = km.abyss(100_000)
    kernel = make_kernel(made, km.written(made, tmp_path))
    root = tmp_path / "root"
    root.mkdir()
    assert drop_cached(kernel, root).startswith("nothing to drop")
    prepare_files(kernel, root)
    assert "pages still cached" in drop_cached(kernel, root)
