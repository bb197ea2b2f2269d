#!/bin/sh
# Builds Debian packages of what is checked out, with Debian's own tools, and asks lintian about them: an error or a warning of it is one here.
#
#   scripts/dist/deb.sh [BUILD [OUT]]      where it is built (build-deb), folder for the results (out/deb)
#
# Writes the packages, their source package and the .changes file to OUT. DEB_BUILD_OPTIONS=nocheck leaves out the unit tests; other variables of
# dpkg-buildpackage and dpkg-buildflags have their usual meaning. What git does not know of is left out.
set -eu

cd "$(dirname "$0")/../.."
mkdir -p "${1:-build-deb}" "${2:-out/deb}"
build=$(cd "${1:-build-deb}" && pwd)
out=$(cd "${2:-out/deb}" && pwd)
stop() {
  echo "deb.sh: $1" >&2
  exit 1
}
command -v dpkg-buildpackage >/dev/null || stop "dpkg-buildpackage not found: this needs Debian (apt-get install dpkg-dev)"
version=$(sed -n 's/^project(tasuki VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
packaged=$(dpkg-parsechangelog --show-field Version)
[ "$version" = "$packaged" ] || stop "CMakeLists.txt says version $version, debian/changelog $packaged: add an entry there (dch --newversion $version)"

scripts/bootstrap.sh --for deb

tree=$build/tasuki-$version
rm -rf "$tree"
rm -f "$build"/*tasuki*_"$version"*
mkdir "$tree"
changed=$(git stash create)
git archive "${changed:-HEAD}" | tar -x -C "$tree"
cd "$tree"
dpkg-buildpackage --no-sign
cd "$build"
lintian --fail-on error,warning "tasuki_${version}_$(dpkg --print-architecture).changes"
cp ./*tasuki*_"$version"* "$out"
ls -s "$out"
