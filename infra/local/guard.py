"""Runs a command and ends it, with all it started, when stdin closes.

The caller keeps the other end of the pipe on stdin, so that no tool goes on after a caller that was killed.
"""

import os
import signal
import subprocess
import sys
import threading


def main() -> int:
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)

    def end_with_the_caller() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    threading.Thread(target=end_with_the_caller, daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
