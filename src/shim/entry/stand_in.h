// Stand-ins for functions that the program's MPI library lacks. The shim exports the functions of MPI-4.0
// whatever the library is, and a program that looks for one by a weak reference or dlsym (mpi4py) believes
// what it finds: so each of them works, by functions that every library has.
//
// The later ones are not found where the library lacks them: see present() and gen/generate.py.
#pragma once

#include <mpi.h>

namespace tasuki::shim::stand_in {

// A large count as arguments of the classic functions: the count itself, or one element of a type of that
// many.
class Sized {
 public:
  Sized(MPI_Count count, MPI_Datatype type);
  ~Sized();
  Sized(const Sized&) = delete;
  Sized& operator=(const Sized&) = delete;
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_;
  MPI_Datatype type_;
  bool made_ = false;
};

int buffer_attach(void* buffer, MPI_Count size);
int buffer_detach(void* address, MPI_Count* size);
int pack(const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf, MPI_Count outsize,
         MPI_Count* position, MPI_Comm comm);
int unpack(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
           MPI_Datatype type, MPI_Comm comm);
int pack_external(const char* format, const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf,
                  MPI_Count outsize, MPI_Count* position);
int unpack_external(const char* format, const void* inbuf, MPI_Count insize, MPI_Count* position,
                    void* outbuf, MPI_Count outcount, MPI_Datatype type);
// The request is the receive's: what is sent is a copy, which the user need not wait for.
int isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
              MPI_Comm comm, MPI_Request* request);
int isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                      int recvtag, MPI_Comm comm, MPI_Request* request);

}  // namespace tasuki::shim::stand_in
