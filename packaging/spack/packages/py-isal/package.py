# SPDX-License-Identifier: BSD-3-Clause

from spack.package import *


class PyIsal(PythonPackage):
    """Reads and writes zlib and gzip faster, by Intel's ISA-L."""

    # Spack's own recipe ends at 1.1.0, with which damaged parts of Darshan logs pass for whole ones.
    homepage = "https://github.com/pycompression/python-isal"
    pypi = "isal/isal-1.9.1.tar.gz"

    license("PSF-2.0")

    version("1.9.1", sha256="d210dca02a689ef2af709d2c62d2daac2e36b5d2fa06e6dc0d023c83fee77e91")

    depends_on("c", type="build")
    depends_on("python@3.9:", type=("build", "link", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("py-setuptools-scm@8:", type="build")
    depends_on("libisal")

    def setup_build_environment(self, env):
        env.set("PYTHON_ISAL_LINK_DYNAMIC", "true")
