"""A program that runs a command with an account of AWS whose instances are nodes of a local cluster.

Usage: aws_loopback.py LOCAL COMMAND..., in the network of the local cluster LOCAL. The command finds the account by its environment.
Standard output and exit status are the command's; what is left in the account afterwards is a line more, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from aws_account import ENVIRONMENT, Emulator

MACHINES = Path(__file__).with_name("aws_machines.py")


def main() -> int:
    local, *command = sys.argv[1:]
    aws = Emulator(str(MACHINES), local)
    try:
        account = {**ENVIRONMENT, "AWS_ENDPOINT_URL": aws.url, "WAVETANK_TEST_AWS": aws.url}
        done = subprocess.run(command, env={**os.environ, **account}, check=False)
        print(json.dumps(aws.left()))
        return done.returncode
    finally:
        aws.close()


if __name__ == "__main__":
    sys.exit(main())
