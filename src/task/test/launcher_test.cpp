#include <gtest/gtest.h>

#include "task/launcher.h"
#include "task/space.h"

namespace tasuki::task {
namespace {

TEST(Self, IsNobodyOutsideASpace) {
  EXPECT_EQ(self(), nullptr);
  EXPECT_EQ(self(), nullptr);
}

TEST(Launcher, OpenMpi) {
  const Job job = read_job({"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_LOCAL_RANK=1",
                            "OMPI_COMM_WORLD_LOCAL_SIZE=4", "PMIX_NAMESPACE=584712193", "SLURM_PROCID=0",
                            "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=1"});
  ASSERT_STREQ(job.launcher, "openmpi");
  EXPECT_EQ(job.world_rank, 5);
  EXPECT_EQ(job.local_rank, 1);
  EXPECT_EQ(job.local_size, 4);
  EXPECT_EQ(job.abi, MpiAbi::openmpi);
}

TEST(Launcher, Hydra) {
  const Job job =
      read_job({"PMI_RANK=2", "PMI_SIZE=8", "MPI_LOCALRANKID=2", "MPI_LOCALNRANKS=3", "PMI_FD=6"});
  ASSERT_STREQ(job.launcher, "hydra");
  EXPECT_EQ(job.world_rank, 2);
  EXPECT_EQ(job.local_size, 3);
  EXPECT_EQ(job.abi, MpiAbi::mpich);
}

TEST(Launcher, SlurmCountsTheTasksOfThisNode) {
  const std::vector<std::string> step{"SLURM_PROCID=9", "SLURM_LOCALID=1",
                                      "SLURM_STEP_TASKS_PER_NODE=4(x2),2", "SLURM_JOB_ID=7",
                                      "SLURM_STEP_ID=0"};
  auto with_node = [&step](const char* node) {
    std::vector<std::string> e = step;
    e.push_back(std::string("SLURM_NODEID=") + node);
    return read_job(e);
  };
  EXPECT_EQ(with_node("0").local_size, 4);
  EXPECT_EQ(with_node("1").local_size, 4);
  EXPECT_EQ(with_node("2").local_size, 2);
  EXPECT_EQ(with_node("3").launcher, nullptr);  // more nodes than the list has
}

TEST(Launcher, NoneOrNonsense) {
  EXPECT_EQ(read_job({}).launcher, nullptr);
  EXPECT_EQ(read_job({"PMI_RANK=x", "MPI_LOCALRANKID=0"}).launcher, nullptr);
  EXPECT_EQ(read_job({"PMI_RANK=0", "MPI_LOCALRANKID=0"}).launcher, nullptr);
  EXPECT_EQ(read_job({"PMI_RANK=0", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=0"}).launcher, nullptr);
}

TEST(Launcher, JobsMeetAtPlacesOfTheirOwn) {
  Job a = read_job({"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
                    "PMIX_NAMESPACE=1"});
  Job b = read_job({"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
                    "PMIX_NAMESPACE=1"});
  Job spawned = read_job({"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_LOCAL_RANK=0",
                          "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=2"});
  EXPECT_EQ(meeting_point(a), meeting_point(b));
  EXPECT_NE(meeting_point(a), meeting_point(spawned));
}

}  // namespace
}  // namespace tasuki::task
