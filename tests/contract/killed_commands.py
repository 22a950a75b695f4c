"""Programs for ``python -c`` that run the command line and are killed or interrupted in the middle of it.

The first argument is the number of programs that they start before.
"""

# Runs the command line, and kills itself with SIGKILL when it starts its n-th program.
COUNTED = """
import os, signal, subprocess, sys
left = int(sys.argv.pop(1))
start = subprocess.Popen.__init__
def counted(self, *args, **kwargs):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    start(self, *args, **kwargs)
subprocess.Popen.__init__ = counted
"""
MAIN = "from wavetank.cli.main import main; main()"
KILLED = COUNTED + MAIN

# Runs the command line; from its n-th program on, each program that it starts comes with the signal to the whole
# process group, as Ctrl-C of somebody impatient does.
INTERRUPTED = KILLED.replace("os.getpid(), signal.SIGKILL", "0, int(sys.argv[0])").replace(
    "left = int(sys.argv.pop(1))", "sys.argv[0] = sys.argv.pop(1); left = int(sys.argv.pop(1))"
)
