// The store of an MPI job against what every store must do: mpirun -n 3 store [operations] -- settings.
// Prints what it tested, "windows" or "messages" among it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cluster/server/mpi_job.h"
#include "cluster/settings/command_line.h"
#include "cluster/transport/checksum_store.h"
#include "pager/test/store_conformance.h"

using namespace tasuki;

namespace {

int lead(cluster::Job& job, const std::vector<std::string>& settings, uint64_t operations) {
  const Result<cluster::Options> options = cluster::read_options(settings, job.size());
  if (!options.ok()) {
    fprintf(stderr, "store: %s\n", options.status().message().c_str());
    job.refuse(1);
    return 1;
  }
  uint64_t local = 0;
  const size_t unit = options.value().pager.page_bytes != 0 ? options.value().pager.page_bytes : 4096;
  Result<std::unique_ptr<cluster::Servers>> made = job.assemble(options.value(), unit, &local);
  if (!made.ok()) {
    fprintf(stderr, "store: %s\n", made.status().message().c_str());
    return 1;
  }
  cluster::Servers& store = *made.value();
  pager::Conformance conformance;
  conformance.operations = operations;
  conformance.in_flight = 24;
  conformance.compressible = options.value().compress != cluster::Compress::none;
  Result<std::unique_ptr<cluster::ChecksumStore>> checked = cluster::ChecksumStore::create(&store);
  const std::string wrong = pager::check_store(
      options.value().checksum ? static_cast<pager::Store&>(*checked.value()) : store, conformance);
  int windows = 0;
  for (const cluster::Lender& lender : store.lenders()) {
    if (lender.window != nullptr) windows++;
    if (wrong.empty() && lender.slots > 0 && (lender.bytes_in == 0 || lender.bytes_out == 0))
      fprintf(stderr, "store: nothing went to %s\n", lender.name.c_str());
  }
  store.finish();
  store.goodbye(0);
  printf("%llu slots of %zu bytes, %zu servers, %d windows: %s\n",
         static_cast<unsigned long long>(store.slots()), unit, store.lenders().size(), windows,
         wrong.empty() ? "right" : wrong.c_str());
  if (!store.lost().empty()) fprintf(stderr, "store: a server is lost\n");
  return wrong.empty() && store.lost().empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t operations = 20'000;
  std::vector<std::string> settings;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--") == 0) {
      settings.assign(argv + i + 1, argv + argc);
      break;
    }
    operations = strtoull(argv[i], nullptr, 10);
  }
  Result<std::unique_ptr<cluster::Job>> job = cluster::Job::connect(cluster::Job::Callers::pager);
  if (!job.ok()) {
    fprintf(stderr, "store: %s\n", job.status().message().c_str());
    return 1;
  }
  int code = 0;
  if (job.value()->rank() == 0) {
    code = lead(*job.value(), settings, operations);
  } else {
    const Result<int> served = job.value()->serve();
    if (!served.ok()) fprintf(stderr, "store: server: %s\n", served.status().message().c_str());
    code = served.ok() ? served.value() : 1;
  }
  job.value()->disconnect(code);
  return code;
}
