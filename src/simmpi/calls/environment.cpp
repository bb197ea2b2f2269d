// MPI_Init and MPI_Finalize, errors, info objects, memory.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "simmpi/calls/call_scope.h"
#include "simmpi/calls/collective_operations.h"
#include "simmpi/objects/comm.h"
#include "simmpi/run/handles.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"
#include "simmpi_generated/calls.h"

namespace tasuki::simmpi {
namespace {

const char* const kClassTexts[] = {
    "no error",
    "invalid buffer",
    "invalid count",
    "invalid datatype",
    "invalid tag",
    "invalid communicator",
    "invalid rank",
    "invalid request",
    "invalid root",
    "invalid group",
    "invalid operator, or one not defined for the datatype",
    "invalid topology",
    "invalid dimensions",
    "invalid argument",
    "unknown error",
    "the message is longer than the receive buffer",
    "other error",
    "internal error",
    "pending request",
    "the error is in the status",
};

Info* info_of(MPI_Info info) {
  if (reinterpret_cast<uintptr_t>(info) < 0x1000) return nullptr;
  auto* p = reinterpret_cast<Info*>(info);
  return p->magic == Info::kMagic ? p : nullptr;
}

std::string* find_entry(Info* info, const char* key) {
  for (auto& e : info->entries)
    if (e.first == key) return &e.second;
  return nullptr;
}

void copy_text(const std::string& text, char* to, size_t room) {
  const size_t n = std::min(text.size(), room - 1);
  memcpy(to, text.data(), n);
  to[n] = 0;
}

}  // namespace

std::string error_text(int code) {
  if (code >= 0 && code < static_cast<int>(std::size(kClassTexts))) return kClassTexts[code];
  const int own = code - MPI_ERR_LASTCODE - 1;
  if (running_rank() != nullptr && own >= 0 && own < static_cast<int>(mpi_state().error_texts.size()))
    return mpi_state().error_texts[static_cast<size_t>(own)];
  return "error class " + std::to_string(code);
}

namespace calls {

// ---- start and end
int Init(int*, char***) {
  MpiState& s = mpi_state();
  if (s.initialized) fail_rank(1, "MPI_Init: called twice");
  s.initialized = true;
  return MPI_SUCCESS;
}
int Init_thread(int* argc, char*** argv, int required, int* provided) {
  Init(argc, argv);
  // One thread makes all calls: nothing else runs in a rank.
  *provided = mpi_state().thread_level = std::min<int>(required, MPI_THREAD_SERIALIZED);
  return MPI_SUCCESS;
}
int Finalize() {
  MpiState& s = mpi_state();
  if (!s.initialized || s.finalized) fail_rank(1, "MPI_Finalize: MPI is not initialised");
  delete_attributes(s.self);
  note_call(s.world, -1, 0, 0, nullptr);
  barrier(s.world);
  s.finalized = true;
  return MPI_SUCCESS;
}
int Initialized(int* flag) {
  *flag = mpi_state().initialized;
  return MPI_SUCCESS;
}
int Finalized(int* flag) {
  *flag = mpi_state().finalized;
  return MPI_SUCCESS;
}
int Is_thread_main(int* flag) {
  *flag = 1;
  return MPI_SUCCESS;
}
int Query_thread(int* provided) {
  *provided = mpi_state().thread_level;
  return MPI_SUCCESS;
}
int Abort(MPI_Comm, int errorcode) {
  const int code = (errorcode & 0xff) != 0 ? errorcode & 0xff : 1;
  fail_rank(code, "called MPI_Abort with error code " + std::to_string(errorcode));
}
int Pcontrol(const int, ...) {
  return MPI_SUCCESS;
}
double Wtime() {
  spend(1000);  // a loop that waits for a time must see it pass
  return static_cast<double>(running_task()->clock) * 1e-12;
}
double Wtick() {
  return 1e-12;
}
int Get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}
int Abi_get_version(int* abi_major, int* abi_minor) {
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}
int Get_library_version(char* version, int* resultlen) {
  copy_text("Tasuki simulator", version, MPI_MAX_LIBRARY_VERSION_STRING);
  *resultlen = static_cast<int>(strlen(version));
  return MPI_SUCCESS;
}
int Get_processor_name(char* name, int* resultlen) {
  *resultlen = snprintf(name, MPI_MAX_PROCESSOR_NAME, "node%05u", running_rank()->node.id);
  return MPI_SUCCESS;
}
int Alloc_mem(MPI_Aint size, MPI_Info, void* baseptr) {
  void* p = size < 0 ? nullptr : aligned_alloc(64, (static_cast<size_t>(size) + 64) / 64 * 64);
  if (p == nullptr) return MPI_ERR_NO_MEM;
  memcpy(baseptr, &p, sizeof p);
  return MPI_SUCCESS;
}
int Free_mem(void* base) {
  free(base);
  return MPI_SUCCESS;
}

// ---- errors
int Error_class(int errorcode, int* errorclass) {
  const int own = errorcode - MPI_ERR_LASTCODE - 1;
  const MpiState& s = mpi_state();
  *errorclass = own >= 0 && own < static_cast<int>(s.error_classes.size())
                    ? s.error_classes[static_cast<size_t>(own)]
                    : errorcode;
  return MPI_SUCCESS;
}
int Error_string(int errorcode, char* string, int* resultlen) {
  copy_text(error_text(errorcode), string, MPI_MAX_ERROR_STRING);
  *resultlen = static_cast<int>(strlen(string));
  return MPI_SUCCESS;
}
int Add_error_class(int* errorclass) {
  MpiState& s = mpi_state();
  *errorclass = MPI_ERR_LASTCODE + 1 + static_cast<int>(s.error_texts.size());
  s.error_texts.emplace_back();
  s.error_classes.push_back(*errorclass);
  return MPI_SUCCESS;
}
int Add_error_code(int errorclass, int* errorcode) {
  Add_error_class(errorcode);
  mpi_state().error_classes.back() = errorclass;
  return MPI_SUCCESS;
}
int Add_error_string(int errorcode, const char* string) {
  MpiState& s = mpi_state();
  const int own = errorcode - MPI_ERR_LASTCODE - 1;
  if (own < 0 || own >= static_cast<int>(s.error_texts.size())) return MPI_ERR_ARG;
  s.error_texts[static_cast<size_t>(own)] = string;
  return MPI_SUCCESS;
}
int Comm_create_errhandler(MPI_Comm_errhandler_function* comm_errhandler_fn, MPI_Errhandler* errhandler) {
  *errhandler = reinterpret_cast<MPI_Errhandler>(new Errhandler{Errhandler::kMagic, comm_errhandler_fn});
  return MPI_SUCCESS;
}
int Errhandler_free(MPI_Errhandler* errhandler) {
  *errhandler = MPI_ERRHANDLER_NULL;  // communicators may still use it
  return MPI_SUCCESS;
}
int Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  Comm* c = comm_of(comm);
  if (c == nullptr) return MPI_ERR_COMM;
  if (errhandler == MPI_ERRHANDLER_NULL) return MPI_ERR_ERRHANDLER;
  c->errhandler = errhandler;
  return MPI_SUCCESS;
}
int Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) {
  Comm* c = comm_of(comm);
  if (c == nullptr) return MPI_ERR_COMM;
  *errhandler = c->errhandler;
  return MPI_SUCCESS;
}
int Comm_call_errhandler(MPI_Comm comm, int errorcode) {
  Comm* c = comm_of(comm);
  if (c == nullptr) return MPI_ERR_COMM;
  CallScope scope("MPI_Comm_call_errhandler");
  scope.done(errorcode, comm);
  return MPI_SUCCESS;
}

// ---- info
int Info_create(MPI_Info* info) {
  *info = reinterpret_cast<MPI_Info>(new Info);
  return MPI_SUCCESS;
}
int Info_free(MPI_Info* info) {
  Info* i = info_of(*info);
  if (i == nullptr) return MPI_ERR_INFO;
  i->magic = 0;
  delete i;
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}
int Info_dup(MPI_Info info, MPI_Info* newinfo) {
  Info* i = info_of(info);
  if (i == nullptr) return MPI_ERR_INFO;
  *newinfo = reinterpret_cast<MPI_Info>(new Info(*i));
  return MPI_SUCCESS;
}
int Info_set(MPI_Info info, const char* key, const char* value) {
  Info* i = info_of(info);
  if (i == nullptr) return MPI_ERR_INFO;
  if (strlen(key) >= MPI_MAX_INFO_KEY) return MPI_ERR_INFO_KEY;
  if (strlen(value) >= MPI_MAX_INFO_VAL) return MPI_ERR_INFO_VALUE;
  if (std::string* old = find_entry(i, key))
    *old = value;
  else
    i->entries.emplace_back(key, value);
  return MPI_SUCCESS;
}
int Info_delete(MPI_Info info, const char* key) {
  Info* i = info_of(info);
  if (i == nullptr) return MPI_ERR_INFO;
  const size_t removed = std::erase_if(i->entries, [&](const auto& e) { return e.first == key; });
  return removed != 0 ? MPI_SUCCESS : MPI_ERR_INFO_NOKEY;
}
int Info_get(MPI_Info info, const char* key, int valuelen, char* value, int* flag) {
  Info* i = info_of(info);
  if (i == nullptr && info != MPI_INFO_ENV) return MPI_ERR_INFO;
  const std::string* found = i != nullptr ? find_entry(i, key) : nullptr;
  *flag = found != nullptr;
  if (found != nullptr) copy_text(*found, value, static_cast<size_t>(valuelen) + 1);
  return MPI_SUCCESS;
}
int Info_get_string(MPI_Info info, const char* key, int* buflen, char* value, int* flag) {
  Info* i = info_of(info);
  if (i == nullptr && info != MPI_INFO_ENV) return MPI_ERR_INFO;
  const std::string* found = i != nullptr ? find_entry(i, key) : nullptr;
  *flag = found != nullptr;
  if (found == nullptr) return MPI_SUCCESS;
  if (*buflen > 0) copy_text(*found, value, static_cast<size_t>(*buflen));
  *buflen = static_cast<int>(found->size()) + 1;
  return MPI_SUCCESS;
}
int Info_get_valuelen(MPI_Info info, const char* key, int* valuelen, int* flag) {
  Info* i = info_of(info);
  if (i == nullptr && info != MPI_INFO_ENV) return MPI_ERR_INFO;
  const std::string* found = i != nullptr ? find_entry(i, key) : nullptr;
  *flag = found != nullptr;
  if (found != nullptr) *valuelen = static_cast<int>(found->size());
  return MPI_SUCCESS;
}
int Info_get_nkeys(MPI_Info info, int* nkeys) {
  Info* i = info_of(info);
  if (i == nullptr && info != MPI_INFO_ENV) return MPI_ERR_INFO;
  *nkeys = i != nullptr ? static_cast<int>(i->entries.size()) : 0;
  return MPI_SUCCESS;
}
int Info_get_nthkey(MPI_Info info, int n, char* key) {
  Info* i = info_of(info);
  if (i == nullptr) return MPI_ERR_INFO;
  if (n < 0 || n >= static_cast<int>(i->entries.size())) return MPI_ERR_ARG;
  copy_text(i->entries[static_cast<size_t>(n)].first, key, MPI_MAX_INFO_KEY);
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace tasuki::simmpi
