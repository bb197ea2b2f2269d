#include <gtest/gtest.h>

#include "task/examine/launcher.h"
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
  EXPECT_EQ(job.world_size, 8);
  EXPECT_EQ(job.local_size, 3);
  EXPECT_EQ(job.abi, MpiAbi::mpich);
}

// Recorded environments, shortened to what concerns ranks and jobs. Recorded here: Open MPI 5.0.11,
// MPICH 5.0.2, Intel MPI 2021.18. From their documentation and published logs: Slurm, PALS.
TEST(Launcher, OpenMpi5) {
  const std::vector<std::string> rank1{"PRTE_LAUNCHED=1",
                                       "PMIX_NAMESPACE=prterun-node-19347@1",
                                       "PMIX_RANK=1",
                                       "PMIX_SERVER_URI41=prterun-node-19347@0.0;tcp4://127.0.0.1:60913",
                                       "PMIX_GDS_MODULE=shmem2,hash",
                                       "PMIX_VERSION=5.0.11rc1",
                                       "OMPI_COMM_WORLD_SIZE=2",
                                       "OMPI_COMM_WORLD_LOCAL_SIZE=2",
                                       "OMPI_COMM_WORLD_RANK=1",
                                       "OMPI_COMM_WORLD_LOCAL_RANK=1",
                                       "OMPI_COMM_WORLD_NODE_RANK=1"};
  const Job job = read_job(rank1);
  ASSERT_STREQ(job.launcher, "openmpi");
  EXPECT_EQ(job.world_rank, 1);
  EXPECT_EQ(job.world_size, 2);
  EXPECT_EQ(job.local_rank, 1);
  EXPECT_EQ(job.local_size, 2);
  EXPECT_EQ(job.abi, MpiAbi::openmpi);
  EXPECT_EQ(job.identity[0], "PMIX_NAMESPACE=prterun-node-19347@1");
}

TEST(Launcher, Mpich5) {
  std::vector<std::string> rank1{"HYDI_CONTROL_FD=7", "PMI_HOSTNAME=node", "MPI_LOCALNRANKS=2",
                                 "MPI_LOCALRANKID=1", "PMI_RANK=1",        "PMI_FD=11",
                                 "PMI_SIZE=2"};
  const Job job = read_job(rank1);
  ASSERT_STREQ(job.launcher, "hydra");
  EXPECT_EQ(job.world_rank, 1);
  EXPECT_EQ(job.local_rank, 1);
  EXPECT_EQ(job.local_size, 2);
  EXPECT_EQ(job.abi, MpiAbi::mpich);
  // Two jobs that ranks spawn at the same time: nothing but descriptors differs, and one process starts both.
  rank1.push_back("PMI_SPAWNED=1");
  EXPECT_EQ(read_job(rank1).launcher, nullptr);
}

TEST(Launcher, IntelMpi) {
  const Job job = read_job({"HYDRA_BSTRAP_PROXY_ID=0", "HYDRA_BSTRAP_LAUNCHER=ssh", "HYDRA_LAUNCH_TYPE=2",
                            "PMI_SIZE=4", "PMI_RANK=3", "PMI_FD=11", "MPI_LOCALNRANKS=2", "MPI_LOCALRANKID=1",
                            "I_MPI_HYDRA_UUID=314c0000-123d-b317-ce60-0600dbc5212a"});
  ASSERT_STREQ(job.launcher, "hydra");
  EXPECT_EQ(job.world_rank, 3);
  EXPECT_EQ(job.local_rank, 1);
  EXPECT_EQ(job.local_size, 2);
  EXPECT_EQ(job.abi, MpiAbi::mpich);
}

TEST(Launcher, Pals) {
  const std::vector<std::string> rank5{"PALS_APID=5b1f3a3c-8c1e-4a8c-9f0d-3d6f0c1f2a77",
                                       "PALS_RANKID=5",
                                       "PALS_NODEID=1",
                                       "PALS_LOCAL_RANKID=1",
                                       "PALS_LOCAL_SIZE=4",
                                       "PMI_RANK=5",
                                       "PMI_SIZE=8",
                                       "PMI_LOCAL_RANK=1",
                                       "PMI_LOCAL_SIZE=4",
                                       "PMI_JOBID=5b1f3a3c-8c1e-4a8c-9f0d-3d6f0c1f2a77",
                                       "PMI_CONTROL_PORT=20002"};
  Job job = read_job(rank5);
  ASSERT_STREQ(job.launcher, "pals");
  EXPECT_EQ(job.world_rank, 5);
  EXPECT_EQ(job.local_rank, 1);
  EXPECT_EQ(job.local_size, 4);
  EXPECT_EQ(job.abi, MpiAbi::mpich);
  EXPECT_EQ(job.identity.size(), 1u);
  // Where PALS itself does not count the node's ranks, its PMI does.
  std::vector<std::string> without = rank5;
  without.erase(without.begin() + 4);
  job = read_job(without);
  ASSERT_STREQ(job.launcher, "pals");
  EXPECT_EQ(job.local_size, 4);
}

// What srun gives a task of the step 4711.0, five tasks on two nodes, whichever PMI is used.
std::vector<std::string> slurm_step(const std::vector<std::string>& pmi) {
  std::vector<std::string> e{"SLURM_JOB_ID=4711",
                             "SLURM_JOBID=4711",
                             "SLURM_STEP_ID=0",
                             "SLURM_STEPID=0",
                             "SLURM_NTASKS=5",
                             "SLURM_NPROCS=5",
                             "SLURM_TASKS_PER_NODE=8(x2)",
                             "SLURM_STEP_NUM_TASKS=5",
                             "SLURM_STEP_NUM_NODES=2",
                             "SLURM_STEP_TASKS_PER_NODE=3,2",
                             "SLURM_NODEID=1",
                             "SLURM_PROCID=4",
                             "SLURM_LOCALID=1"};
  e.insert(e.end(), pmi.begin(), pmi.end());
  return e;
}

TEST(Launcher, SlurmWithAnyPmi) {
  const struct {
    std::vector<std::string> pmi;
    MpiAbi abi;
  } cases[] = {
      {{"SLURM_MPI_TYPE=none"}, MpiAbi::none},
      {{"SLURM_MPI_TYPE=pmi2", "PMI_FD=13", "PMI_JOBID=4711.0", "PMI_RANK=4", "PMI_SIZE=5"}, MpiAbi::mpich},
      // Both Open MPI and MPICH speak PMIx.
      {{"SLURM_MPI_TYPE=pmix", "PMIX_NAMESPACE=slurm.pmix.4711.0", "PMIX_RANK=4", "PMIX_SECURITY_MODE=native",
        "SLURM_PMIXP_ABORT_AGENT_PORT=43211"},
       MpiAbi::none},
      {{"SLURM_MPI_TYPE=cray_shasta", "PMI_RANK=4", "PMI_LOCAL_RANK=1", "PMI_LOCAL_SIZE=2", "PMI_SIZE=5",
        "PMI_CONTROL_PORT=20002", "PMI_JOBID=4711.0"},
       MpiAbi::mpich},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.pmi[0]);
    const Job job = read_job(slurm_step(c.pmi));
    ASSERT_STREQ(job.launcher, "slurm");
    EXPECT_EQ(job.world_rank, 4);
    EXPECT_EQ(job.local_rank, 1);
    EXPECT_EQ(job.local_size, 2);  // the step's, not the 8 of the allocation
    EXPECT_EQ(job.abi, c.abi);
    EXPECT_EQ(job.identity[0], "SLURM_JOB_ID=4711");
    EXPECT_EQ(job.identity[1], "SLURM_STEP_ID=0");
  }
}

// A batch script is no step, though it has a rank: nobody is to be waited for.
TEST(Launcher, SlurmBatchScript) {
  EXPECT_EQ(read_job({"SLURM_JOB_ID=4711", "SLURM_NTASKS=16", "SLURM_TASKS_PER_NODE=8(x2)", "SLURM_PROCID=0",
                      "SLURM_LOCALID=0", "SLURM_NODEID=0", "SLURM_NNODES=2"})
                .launcher,
            nullptr);
}

// mpirun in a batch script, or in the shell that srun --pty gives: the ranks inherit what is not about them.
TEST(Launcher, MpirunInsideSlurm) {
  const std::vector<std::string> shell{
      "SLURM_JOB_ID=4711", "SLURM_STEP_ID=4294967290", "SLURM_STEP_TASKS_PER_NODE=1",
      "SLURM_PROCID=0",    "SLURM_LOCALID=0",          "SLURM_NODEID=0"};
  std::vector<std::string> hydra = shell, openmpi = shell;
  for (const char* v : {"PMI_RANK=3", "PMI_SIZE=4", "PMI_FD=9", "MPI_LOCALRANKID=3", "MPI_LOCALNRANKS=4"})
    hydra.push_back(v);
  for (const char* v : {"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_LOCAL_RANK=3",
                        "OMPI_COMM_WORLD_LOCAL_SIZE=4", "PMIX_NAMESPACE=prterun-node-8@1"})
    openmpi.push_back(v);
  ASSERT_STREQ(read_job(hydra).launcher, "hydra");
  EXPECT_EQ(read_job(hydra).local_size, 4);
  ASSERT_STREQ(read_job(openmpi).launcher, "openmpi");
  EXPECT_EQ(read_job(openmpi).local_size, 4);
  EXPECT_EQ(read_job(shell).local_size, 1);
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
