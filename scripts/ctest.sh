#!/bin/sh
# ctest with the same arguments, and then, where it repeats what fails, the tests that needed more than one try, and the last lines of
# those that failed all the same: who reads the end of a long log sees why.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{
  ctest "$@"
  echo "exit $?" >>"$log.code"
} | tee "$log"
again=$(sed -nE 's/^ *([0-9]+\/[0-9]+ +)?Test +#[0-9]+: ([^ ]+) \.*.*\*\*\*.*/\2/p' "$log" | sort -u | while read -r test; do
  grep -qE "Test +#[0-9]+: $test \.+ +Passed" "$log" && echo "  $test"
done)
last=$(awk '/^ *([0-9]+\/[0-9]+ +)?Test +#[0-9]+: / || /^ *Start +[0-9]+: / || /% tests passed/ {
    name = $0
    sub(/^[^:]*: /, "", name)
    sub(/ .*/, "", name)
    if ($0 ~ / Passed /) delete n[name]
    if ($0 ~ /\*\*\*/) n[name] = 0
    else name = ""
    next
  }
  name != "" && NF { text[name, n[name]++] = $0 }
  END { for (t in n) { print "  " t; for (i = n[t] > 10 ? n[t] - 10 : 0; i < n[t]; i++) print "    " substr(text[t, i], 1, 300) } }' "$log")
code=$(sed -n 's/^exit //p' "$log.code")
rm -f "$log.code"
[ -z "$again" ] || printf 'Needed a second try:\n%s\n' "$again"
[ "$code" = 0 ] || printf 'The last lines of what failed:\n%s\n' "$last"
exit "$code"
