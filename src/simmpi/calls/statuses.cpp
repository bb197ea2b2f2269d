// Statuses.

#include "simmpi/calls/user_requests.h"
#include "simmpi/objects/datatype.h"
#include "simmpi/run/handles.h"
#include "simmpi_generated/calls.h"

namespace tasuki::simmpi {

void set_status(MPI_Status* status, const Outcome& o) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = o.source;
  status->MPI_TAG = o.tag;
  status->MPI_ERROR = o.error;
  status->MPI_internal[0] = static_cast<int>(o.bytes & 0xffffffff);
  status->MPI_internal[1] = static_cast<int>(o.bytes >> 32);
  status->MPI_internal[2] = o.cancelled;
}

namespace {

uint64_t bytes_of(const MPI_Status& s) {
  return static_cast<uint32_t>(s.MPI_internal[0]) |
         static_cast<uint64_t>(static_cast<uint32_t>(s.MPI_internal[1])) << 32;
}

}  // namespace

namespace calls {

int Get_count(const MPI_Status* status, MPI_Datatype datatype, CountOut count) {
  const Datatype* t = type_of(datatype);
  if (t == nullptr) return MPI_ERR_TYPE;
  const uint64_t n = bytes_of(*status), size = t->size();
  count = size == 0       ? (n == 0 ? 0 : MPI_UNDEFINED)
          : n % size == 0 ? static_cast<int64_t>(n / size)
                          : int64_t{MPI_UNDEFINED};
  return MPI_SUCCESS;
}
int Get_elements(const MPI_Status* status, MPI_Datatype datatype, CountOut count) {
  const Datatype* t = type_of(datatype);
  if (t == nullptr) return MPI_ERR_TYPE;
  const int64_t n = count_elements(*t, bytes_of(*status));
  count = n < 0 ? int64_t{MPI_UNDEFINED} : n;
  return MPI_SUCCESS;
}
int Get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  return Get_elements(status, datatype, count);
}
int Test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status->MPI_internal[2];
  return MPI_SUCCESS;
}
int Status_set_cancelled(MPI_Status* status, int flag) {
  status->MPI_internal[2] = flag;
  return MPI_SUCCESS;
}
int Status_set_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  const Datatype* t = type_of(datatype);
  if (t == nullptr) return MPI_ERR_TYPE;
  Outcome o{status->MPI_SOURCE, status->MPI_TAG, status->MPI_ERROR,
            static_cast<uint64_t>(count) * (t->element != 0 ? t->element : t->size()), false};
  set_status(status, o);
  return MPI_SUCCESS;
}
int Status_set_elements(MPI_Status* status, MPI_Datatype datatype, int count) {
  return Status_set_elements_x(status, datatype, count);
}
int Status_set_elements_c(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  return Status_set_elements_x(status, datatype, count);
}
int Status_get_error(const MPI_Status* status, int* error) {
  *error = status->MPI_ERROR;
  return MPI_SUCCESS;
}
int Status_get_source(const MPI_Status* status, int* source) {
  *source = status->MPI_SOURCE;
  return MPI_SUCCESS;
}
int Status_get_tag(const MPI_Status* status, int* tag) {
  *tag = status->MPI_TAG;
  return MPI_SUCCESS;
}
int Status_set_error(MPI_Status* status, int error) {
  status->MPI_ERROR = error;
  return MPI_SUCCESS;
}
int Status_set_source(MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return MPI_SUCCESS;
}
int Status_set_tag(MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace tasuki::simmpi
