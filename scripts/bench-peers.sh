#!/bin/sh
# Tasuki against six MPI libraries in one run: the distribution's Open MPI and MPICH, Open MPI 5 (pml ob1 and, where the package has it,
# pml ucx), MPICH 5 and Intel MPI. The last ones are installed from Python packages as for `ctest -R wheels.`; what cannot be installed is
# named and left out.
#
#   scripts/bench-peers.sh BUILD [typed | messages | collectives | rma] [more arguments of that `tasuki bench`]
#   e.g. scripts/bench-peers.sh build --buffers touched --json peers.json       typed: the patterns of applications
set -eu
build=${1:?usage: bench-peers.sh BUILD [typed | messages | collectives | rma] [more arguments of that tasuki bench]}
shift
what=typed patterns=--peers measure=ddt
case ${1-} in
  typed) shift ;;
  messages | collectives | rma)
    what=$1 patterns='' measure=sweep
    shift
    ;;
esac
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$build" && pwd)
installed=$build/test/wheels/installed
peers=$build/peers
mkdir -p "$installed" "$peers"
"$source/scripts/install-mpi-wheels.sh" "$installed"

# A launcher of its own for each peer, so that its environment and arguments meet nobody else.
launcher() { # name, library, command
  cat >"$peers/$1-mpirun" <<END
#!/bin/sh
export I_MPI_ROOT='$installed/$2' PATH='$installed/$2/bin':"\$PATH"
exec $3 "\$@"
END
  chmod +x "$peers/$1-mpirun"
}
program() { # library
  [ -n "$(find "$peers/$measure-$1" -newer "$source/bench/measure/$measure/main.c" 2>/dev/null)" ] && return
  # gcc takes ignored statuses for arrays of no bytes.
  I_MPI_ROOT=$installed/$1 PATH=$installed/$1/bin:$PATH mpicc -D_GNU_SOURCE -O3 -w -I"$source/bench" \
    "$source/bench/measure/$measure"/*.c "$source"/bench/measure/common/*.c -o "$peers/$measure-$1" -lm -lpthread
}

add() { # name, library, command: one more --peer in the arguments
  launcher "$1" "$2" "$3"
  set_peers="$set_peers --peer $1=$peers/$1-mpirun,$peers/$measure-$2"
}
set_peers=
for library in openmpi mpich intel; do
  [ -e "$installed/$library/installed" ] || continue
  program "$library"
  bin=$installed/$library/bin
  case $library in
    openmpi)
      # Without RDMA hardware its pml ucx wants to be told that shared memory will do.
      add openmpi5 openmpi "'$bin/mpirun' --mca pml ob1"
      if "$bin/ompi_info" --parsable 2>/dev/null | grep -q '^mca:pml:ucx:'; then
        add openmpi5-ucx openmpi "'$bin/mpirun' --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any"
      else
        echo "bench-peers: this Open MPI 5 has no pml ucx"
      fi
      # Collectives through shared memory, and hierarchical ones, which are not its first choice on a node.
      for component in xhc han; do
        if [ "$what" = collectives ] && "$bin/ompi_info" --parsable 2>/dev/null | grep -q "^mca:coll:$component:"; then
          add "openmpi5-$component" openmpi "'$bin/mpirun' --mca pml ob1 --mca coll_${component}_priority 100"
        fi
      done
      ;;
    mpich) add mpich5 mpich "'$bin/mpiexec.hydra'" ;;
    intel) add intel intel "'$bin/mpiexec.hydra'" ;;
  esac
done
# shellcheck disable=SC2086  # paths of a build tree with blanks are not supported by LD_PRELOAD either
exec "$build/bin/tasuki" bench $what $patterns $set_peers "$@"
