"""python -m dlm script.py args -- settings: runs a script with the pager started before its first line."""

import os
import runpy
import sys

if __name__ == "__main__":
    # Importing the package has checked the arguments, started the pager and taken the settings out of them.
    del sys.argv[0]
    if not os.path.exists(sys.argv[0]):
        sys.exit(f"dlm: cannot open {sys.argv[0]}: there is no such script in {os.getcwd()}")
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))  # as for a script
    runpy.run_path(sys.argv[0], run_name="__main__")
