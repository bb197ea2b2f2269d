#!/bin/sh
# Prints the mirror that Debian's packages come from: DEBIAN_MIRROR, else the one that this machine's apt uses. Nothing if it has none.
if [ -n "${DEBIAN_MIRROR:-}" ]; then
  echo "$DEBIAN_MIRROR"
elif command -v apt-get >/dev/null; then
  # shellcheck disable=SC2016 # apt's own notation
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v -e security -e '^$' | head -n 1
fi
