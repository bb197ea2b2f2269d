"""python -m dlm script.py args -- settings: runs a script with the pager started before its first line."""

import os
import runpy
import sys

if __name__ == "__main__":
    # Importing the package has started the pager and taken the settings out of the arguments.
    if len(sys.argv) < 2:
        sys.exit("usage: mpirun -n 4 python3 -m dlm SCRIPT [arguments] [-- settings]")
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))  # as for a script
    runpy.run_path(sys.argv[0], run_name="__main__")
