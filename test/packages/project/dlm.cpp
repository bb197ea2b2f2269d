#include <tasuki/dlm.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

int main(int argc, char** argv) {
  dlm_startup(&argc, &argv);
  {
    std::vector<double, tasuki::dlm::allocator<double>> x(1000, 2.0);
    std::printf("dlm: %g\n", std::accumulate(x.begin(), x.end(), -1001.0));
  }
  dlm_shutdown();
}
