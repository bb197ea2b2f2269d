#include <tasuki/xmp.h>
#include <cstdio>

int main(int argc, char** argv) {
  xmp_init_mpi(&argc, &argv);
  if (xmp_node_num() == 1) std::printf("xmp: %d of %d\n", xmp_node_num(), xmp_num_nodes());
  xmp_finalize_mpi();
}
