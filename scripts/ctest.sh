#!/bin/sh
# ctest with the same arguments, and then, where it repeats what fails, the tests that needed more than one try.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{
  ctest "$@"
  echo "exit $?" >>"$log.code"
} | tee "$log"
again=$(sed -nE 's/^ *([0-9]+\/[0-9]+ +)?Test +#[0-9]+: ([^ ]+) \.*.*\*\*\*.*/\2/p' "$log" | sort -u | while read -r test; do
  grep -qE "Test +#[0-9]+: $test \.+ +Passed" "$log" && echo "  $test"
done)
code=$(sed -n 's/^exit //p' "$log.code")
rm -f "$log.code"
[ -z "$again" ] || printf 'Needed a second try:\n%s\n' "$again"
exit "$code"
