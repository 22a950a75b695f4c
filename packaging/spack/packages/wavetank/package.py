# SPDX-License-Identifier: BSD-3-Clause

from pathlib import Path

from spack.package import *


class Wavetank(PythonPackage):
    """Test scale models of parallel applications' I/O on virtual clusters with real file systems."""

    # The source is the clone that this recipe lies in. Its files as they are: spack dev-build --source-path CLONE wavetank@main
    git = Path(__file__).resolve().parents[4].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    # The service of spaces takes httpx2, of which Spack has no recipe: pip brings it.
    variant("aws", default=False, description="Clusters made of instances of AWS")
    variant("tables", default=False, description="Tables for pandas and Arrow")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling@1.24:", type="build")

    # pyproject.toml has the same names and versions; a test compares them.
    with default_args(type=("build", "run")):
        depends_on("py-click@8.1:")
        depends_on("py-pydantic@2.6:")
    with default_args(type="run"):
        depends_on("py-darshan@3.4.4:")
        depends_on("py-isal@1.5:")
        depends_on("py-jinja2@3.1:")
        depends_on("py-matplotlib@3.8:")
        depends_on("py-numpy@1.26:")
        depends_on("py-pyyaml@6.0:")
        depends_on("py-rich@13.7:")
        depends_on("py-boto3@1.35:", when="+aws")
        depends_on("py-pandas@2.1:", when="+tables")
        depends_on("py-pyarrow@15:", when="+tables")

        # The C parts are built at first use, for the MPI library that is loaded then.
        depends_on("cmake@3.20:")
        depends_on("gmake")
        depends_on("mpi")
