#!/bin/bash
# Checks the lock-free code against the memory model of C++: runs the models of test/models with GenMC.
#
#   scripts/model-check.sh [MODEL[:VARIANT] ...]            each model: executions, seconds
#   scripts/model-check.sh --mutate [MODEL[:VARIANT] ...]   the same with one memory order after the other made weaker: which
#                                                           model notices
#
# GENMC: the checker, else `genmc` of PATH (exit code 77 without it); CLANG: a clang of the LLVM that it was built with;
# GENMC_FLAGS: more of its options (--imm: the memory model in which loads may be late); MODEL_SECONDS: the most that one may take.
set -u
cd "$(dirname "$0")/.." || exit 1
genmc=${GENMC:-$(command -v genmc)}
if [ ! -f "$genmc" ] || [ ! -x "$genmc" ]; then
  echo "skipped: no GenMC (GENMC=/path/of/genmc; https://github.com/MPI-SWS/genmc)"
  exit 77
fi
read -r -a more <<<"${GENMC_FLAGS:-}"
clang=${CLANG:-clang++}
link=${LLVM_LINK:-llvm-link}
most=${MODEL_SECONDS:-600}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A copy of the sources in which waits are short and rings small: how often one looks before it does something else
# changes nothing of what may happen. Of membarrier(2), which puts a fence into each other thread, the other side is a fence, too.
shorten() { # FILE FROM TO
  grep -qF "$2" "$1/$3" || {
    echo "model-check: $3 has no \"$2\" any more" >&2
    exit 1
  }
  sed -i "s|$2|$4|" "$1/$3"
}
copy_sources() { # TO
  mkdir -p "$1" && cp -r src/base src/coarray src/layout src/message src/os src/shim src/task "$1"
  shorten "$1" 'kAside = 32' message/shared/spin_lock.cpp 'kAside = 1'
  shorten "$1" 'kRingSlots = 64' message/shared/shared.h 'kRingSlots = 16'
  shorten "$1" 'kYields = 256' message/shared/wait.h 'kYields = 1'
  shorten "$1" 'kYieldsAgain = 16' message/shared/wait.h 'kYieldsAgain = 1'
  shorten "$1" 'std::atomic_signal_fence(std::memory_order_seq_cst)' message/shared/wait.h 'model_fence()'
  shorten "$1" 'kArity = 16' message/collectives/barrier.cpp 'kArity = 2'
  shorten "$1" 'kPartnerPolls = 400' message/transfers/pipeline.cpp 'kPartnerPolls = 1'
  shorten "$1" 'kRelayUnits = 32' message/transfers/relay.h 'kRelayUnits = 1'
  shorten "$1" 'kSmallest = 2 << 10;' message/transfers/relay.cpp 'kSmallest = 1 << 10;'
  shorten "$1" 'kPolls = 500;' message/transfers/relay.cpp 'kPolls = 1;'
  shorten "$1" "kPolls = 20'000" message/transfers/helpers.cpp 'kPolls = 1'
  shorten "$1" 'polls % 64 == 0' message/transfers/job.cpp 'polls % 1 == 0'
}

said() { # MODEL WORD: what the head of a model says behind "// Word: "
  sed -n "s|^// $2: *||p" "test/models/$1.cpp"
}
flags_of() { # MODEL VARIANT
  said "$1" Variant | awk -v v="$2" '$1 == v { $1 = ""; print }'
}

# A folder stands for all sources in it.
sources_of() { # SOURCES MODEL
  local part
  for part in $(said "$2" Sources); do
    if [ -d "$1/$part" ]; then (cd "$1" && ls "$part"/*.cpp); else echo "$part"; fi
  done
}

# The program of a model, from the sources in $1.
build() { # SOURCES MODEL VARIANT OUT [FLAG]
  local parts=() flags dir file n=0
  read -r -a flags <<<"$(flags_of "$2" "$3") ${5:-}"
  for dir in $(said "$2" Instead); do flags+=("-Itest/models/instead/$dir"); done
  for file in "test/models/$2.cpp" $(sources_of "$1" "$2"); do
    [ -f "$file" ] || file=$1/$file
    n=$((n + 1))
    "$clang" -std=c++20 -O0 -Xclang -disable-O0-optnone -w -fno-exceptions -fno-rtti -fno-builtin -fno-threadsafe-statics \
      -Itest/models -Itest/models/instead/kernel "${flags[@]}" "-I$1" -S -emit-llvm "$file" -o "$4.$n" || return 1
    parts+=("$4.$n")
  done
  "$link" -S "${parts[@]}" -o "$4.all" && python3 test/models/lower.py <"$4.all" >"$4"
}

# The checker's exit code; what it says is in $2.out. Its caching of instructions takes new variables for freed ones.
check() { # MODEL PROGRAM
  local flags
  read -r -a flags <<<"$(said "$1" Checker)"
  timeout "$most" "$genmc" --disable-estimation --disable-instruction-caching --input-from-bitcode-file \
    "${flags[@]}" "${more[@]}" "$2" >"$2.out" 2>&1
}

number_of() { # FILE WORDS
  sed -n "s/.*$2[^0-9]*\([0-9.]*\).*/\1/p" "$1" | tail -1
}

all_models() {
  local model variants variant
  for model in test/models/*.cpp; do
    model=$(basename "$model" .cpp)
    variants=$(said "$model" Variant | awk '{ print $1 }')
    for variant in ${variants:-""}; do echo "$model:$variant"; done
  done
}

run_all() { # MODEL:VARIANT ...
  local bad=0 model variant program rc end
  copy_sources "$work/src" || exit 1
  for pair in "$@"; do
    model=${pair%%:*} variant=${pair#*:} program=$work/program
    rm -f "$program"*
    build "$work/src" "$model" "$variant" "$program" && check "$model" "$program"
    rc=$?
    # An error at the end must be found, or the model says nothing.
    build "$work/src" "$model" "$variant" "$program.end" -DMODEL_END && check "$model" "$program.end"
    end=$?
    if [ $rc = 0 ] && [ $end != 0 ] && grep -qF 'the end' "$program.end.out"; then
      printf 'ok      %-24s %7s executions %6s s\n' "${pair%:}" \
        "$(number_of "$program.out" 'complete executions explored')" "$(number_of "$program.out" 'wall-clock time')"
    else
      bad=1
      printf 'FAILED  %-24s %s\n' "${pair%:}" "$([ $rc = 0 ] && echo 'its end is not reached' || [ $rc != 124 ] || echo "not through in $most s")"
      grep -vE '^\s+\(' "$program.out" | tail -20
    fi
  done
  return $bad
}

# What an order may become, one by one.
weaker() { # ORDER LINE
  case $1:$2 in
    acq_rel:*) echo acquire release ;;
    seq_cst:*.store*) echo release ;;
    seq_cst:*.load*) echo acquire ;;
    seq_cst:*) echo acq_rel ;;
    *) echo relaxed ;;
  esac
}

files_of() { # MODEL
  { said "$1" Sources && said "$1" Headers; } | tr ' ' '\n'
}

# The first of the models that use this file and do not pass with these sources.
noticed_by() { # FILE SOURCES MODEL:VARIANT ...
  local file=$1 sources=$2 pair model late='' program=$work/program
  shift 2
  for pair in "$@"; do
    model=${pair%%:*}
    files_of "$model" | grep -qxF "$file" || continue
    rm -f "$program"*
    build "$sources" "$model" "${pair#*:}" "$program" || continue
    check "$model" "$program"
    case $? in
      0) ;;
      124) late=" ($pair is not through)" ;;
      *) echo "${pair%:}" && return ;;
    esac
  done
  echo "UNNOTICED$late"
}

# A place that no model notices is listed: it may be one that need not be so strong for what the models do.
mutate() { # MODEL:VARIANT ...
  local file line text order places weak i noticed unnoticed=0 count=0
  copy_sources "$work/src" || exit 1
  for file in $(for pair in "$@"; do files_of "${pair%%:*}"; done | sort -u); do
    while IFS=: read -r line text; do
      for order in acquire release acq_rel seq_cst; do
        places=$(grep -ow "memory_order_$order" <<<"$text" | wc -l)
        for ((i = 1; i <= places; i++)); do
          for weak in $(weaker "$order" "$text"); do
            rm -rf "$work/mutant" && cp -r "$work/src" "$work/mutant"
            sed -i "${line}s/memory_order_$order/memory_order_$weak/$i" "$work/mutant/$file"
            noticed=$(noticed_by "$file" "$work/mutant" "$@")
            count=$((count + 1))
            case $noticed in UNNOTICED*) unnoticed=$((unnoticed + 1)) ;; esac
            printf '%-22s %s:%s: %s %s -> %s\n' "$noticed" "$file" "$line" "$order" "$i" "$weak"
          done
        done
      done
    done < <(grep -nE 'memory_order_(acquire|release|acq_rel|seq_cst)' "$work/src/$file")
  done
  echo "$count orders weakened, $unnoticed unnoticed"
}

what=run_all
[ "${1:-}" != --mutate ] || {
  what=mutate
  shift
}
chosen=()
for pair in $(all_models); do
  [ $# = 0 ] && chosen+=("$pair")
  for wanted in "$@"; do
    case $pair in "$wanted" | "$wanted":*) chosen+=("$pair") ;; esac
  done
done
[ ${#chosen[@]} != 0 ] || {
  echo "model-check: no such model: $*" >&2
  exit 1
}
"$genmc" --version | sed -n 's/^ *\(GenMC v.*\)/\1/p; s/^ *Built with/  with/p'
$what "${chosen[@]}"
