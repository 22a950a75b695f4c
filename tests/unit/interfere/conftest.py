import sys
from pathlib import Path

# The fakes of a cluster, a plan and a deployer are shared with the tests of measuring and of campaigns.
for _shared in ("measure", "campaign"):
    sys.path.append(str(Path(__file__).parents[1] / _shared))
