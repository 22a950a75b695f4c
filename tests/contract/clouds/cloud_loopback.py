"""A program that runs a command with an account of a cloud whose machines are nodes of a local cluster.

Usage: cloud_loopback.py CLOUD LOCAL COMMAND..., in the network of the local cluster LOCAL; CLOUD is a provider's name. The command finds
the account by its environment. Standard output and exit status are the command's; what is left in the account afterwards is a line more,
as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from emulated_account import Emulator, account_of


def main() -> int:
    name, local, *command = sys.argv[1:]
    cloud = Emulator(str(Path(__file__).with_name(f"{name}_machines.py")), local)
    try:
        account = {
            **account_of(name).environment(cloud.url),
            "WAVETANK_TEST_CLOUD": name,
            "WAVETANK_TEST_CLOUD_URL": cloud.url,
        }
        done = subprocess.run(command, env={**os.environ, **account}, check=False)
        print(json.dumps(cloud.left()))
        return done.returncode
    finally:
        cloud.close()


if __name__ == "__main__":
    sys.exit(main())
