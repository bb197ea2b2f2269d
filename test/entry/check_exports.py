#!/usr/bin/env python3
"""check_exports.py SHIM MAP: does the shim export exactly what the version script lists? Both names of each function."""

import re
import subprocess
import sys

shim, version_script = sys.argv[1:]
listed = set(re.findall(r"^\s+(P?MPI_\w+);", open(version_script).read(), re.M))
output = subprocess.run(["nm", "-D", "--defined-only", shim], check=True, capture_output=True, text=True).stdout
exported = {line.split()[-1] for line in output.splitlines()}
if len(listed) < 100 or exported != listed:
    sys.exit(f"only listed: {sorted(listed - exported)}\nonly exported: {sorted(exported - listed)}")
for name in exported:
    if not name.startswith("P") and "P" + name not in exported:
        sys.exit(f"P{name} is missing")
