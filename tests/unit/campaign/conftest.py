import sys
from pathlib import Path

# The fakes of a cluster and a kernel are shared with the tests of measuring.
sys.path.append(str(Path(__file__).parents[1] / "measure"))
sys.path.append(str(Path(__file__).parents[1] / "compare"))
